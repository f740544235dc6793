// Data that the views of a location show at an instant: of a running service, or of a recorded run.
import type { OperatorLimitView } from '../../src/wire/grid-operator.js';
import type { AlarmView } from '../../src/wire/operator-history.js';
import type { ConnectorLive, LocationLive } from '../../src/wire/operator-locations.js';

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
