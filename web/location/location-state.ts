// Data that the views of a location show at an instant: of a running service, or of a recorded run.

import type { AlarmView } from '../../src/features/alarms/contract.js';
import type { ConnectorLive } from '../../src/features/live/contract.js';
import type { LocationLive } from '../../src/features/live-contract.js';
import type { OperatorLimitView } from '../../src/features/operator-limit/contract.js';

export interface LocationState
  extends Pick<LocationLive, 'actualKw' | 'gridLimitKw' | 'gridLimitCause' | 'effectiveLimitKw'> {
  /** Null if no operator may limit the location. */
  readonly operatorLimit: OperatorStanding | null;
  readonly alarms: readonly AlarmView[];
}

/** Without `endsAt`, nothing is known of an end. */
export type OperatorStanding = Pick<OperatorLimitView, 'state' | 'limitKw' | 'source' | 'since'> &
  Partial<Pick<OperatorLimitView, 'endsAt'>>;

export type ShownConnector = Pick<
  ConnectorLive,
  | 'controllerUuid'
  | 'connectorId'
  | 'status'
  | 'link'
  | 'chargingStatus'
  | 'powerType'
  | 'lastHeardSecondsAgo'
  | 'actualKw'
  | 'isEstimated'
  | 'limitA'
  | 'lockLimitKw'
  | 'reason'
>;
