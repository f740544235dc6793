// What a location is told, and what it tells: the only way into its machine, and the only way out.
import type { GrantedShare } from '../limits/cluster-shares.js';
import type { OperatorEvent, OperatorReport } from '../limits/operator.machine.js';
import type { HolderEvent } from '../limits/profile-holder.js';
import type { ProfileCrossing } from '../limits/profile-stack.js';
import type { SiteMeterEvent, SiteMeterReport } from '../limits/site-meter.machine.js';
import type { EpochMs } from '../values/time.js';
import type { Instant } from './budget.js';
import type { ConnectorEvent, ConnectorReport } from './connector.machine.js';
import type { Decision } from './location-supervisor.js';

export type LocationEvent =
  | HolderEvent
  | { readonly type: 'permanentLimit.set'; readonly limitKw: number; readonly now: EpochMs }
  | {
      readonly type: 'clusterShare.set';
      readonly clusterId: string;
      readonly share: GrantedShare | undefined;
    }
  | { readonly type: 'connector.told'; readonly key: string; readonly event: ConnectorEvent }
  /** From the grid operator. */
  | { readonly type: 'operator.told'; readonly event: OperatorEvent }
  | OperatorReport
  /** From the location's meter. */
  | { readonly type: 'siteMeter.told'; readonly event: SiteMeterEvent }
  | SiteMeterReport
  | ConnectorReport
  /** What it imports is to be counted, where the average is limited that the tariff bills. */
  | ({ readonly type: 'import.due' } & Instant)
  /** Who may draw how much is to be decided anew. */
  | ({ readonly type: 'decision.due' } & Instant);

export type LocationEffect =
  | ({ readonly type: 'profile.crossed' } & ProfileCrossing)
  | ({ readonly type: 'profile.cancelled' } & ProfileCrossing)
  | { readonly type: 'effectiveLimit.changed'; readonly effectiveLimitKw: number }
  | { readonly type: 'limitInForce.changed'; readonly limitKw: number }
  | OperatorReport
  /** The meter is in another state, or the building leaves more or less. */
  | SiteMeterReport
  /** The average that the tariff bills leaves more or less for the chargers. */
  | { readonly type: 'peakShaving.changed' }
  | ConnectorReport
  | ({ readonly type: 'decided' } & Decision)
  /** A defect. What was decided before is renewed no longer, and chargers fall back by themselves. */
  | { readonly type: 'decision.failed'; readonly error: unknown }
  /** Its chargers may be entitled to less than before, or to more than its share, or need other than that: its clusters share anew. */
  | { readonly type: 'reserved.changed' };
