// Events that a location's machine receives, and effects that it emits.
import type { GrantedShare } from '../limits/cluster-shares.js';
import type { OperatorEvent, OperatorReport } from '../limits/lpc.machine.js';
import type { HolderEvent } from '../limits/profile.machine.js';
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
  | { readonly type: 'connector.event'; readonly key: string; readonly event: ConnectorEvent }
  /** From the grid operator. */
  | { readonly type: 'operator.event'; readonly event: OperatorEvent }
  | OperatorReport
  /** From the location's meter. */
  | { readonly type: 'siteMeter.event'; readonly event: SiteMeterEvent }
  | SiteMeterReport
  | ConnectorReport
  /** Counts the site import if peak shaving limits the billed average. */
  | ({ readonly type: 'import.due' } & Instant)
  /** Requests a new decision on the division of power. */
  | ({ readonly type: 'decision.due' } & Instant);

export type LocationEffect =
  | ({ readonly type: 'profile.crossed' } & ProfileCrossing)
  | ({ readonly type: 'profile.cancelled' } & ProfileCrossing)
  | { readonly type: 'effectiveLimit.changed'; readonly effectiveLimitKw: number }
  | { readonly type: 'limitInForce.changed'; readonly limitKw: number }
  | OperatorReport
  /** The state of the site meter, or the power that the building leaves, has changed. */
  | SiteMeterReport
  /** Peak shaving leaves another limit for the chargers. */
  | { readonly type: 'peakShaving.changed' }
  | ConnectorReport
  | ({ readonly type: 'decided' } & Decision)
  /** A defect. Earlier grants are renewed no longer, and chargers fall back to their fail-safes. */
  | { readonly type: 'decision.failed'; readonly error: unknown }
  /**
   * The location's reservation fell or exceeds its share, or its need changed. Its clusters divide their caps again.
   */
  | { readonly type: 'reserved.changed' };
