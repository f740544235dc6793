// State of a connector as a word for the activity of its car. The reason of the limit, next to it, explains a low
// power.
import type { ConnectorLive } from '../../src/features/live-contract.js';
import type { ShownConnector } from './location-state.js';

export interface ConnectorState {
  readonly word: string;
  readonly definition: string;
  /** Only for states that need attention. */
  readonly tone?: 'warning' | 'bad';
}

type ChargingStatus = NonNullable<ConnectorLive['chargingStatus']>;

/** With the definitions of the glossary for the states of OCPP 1.6. */
export const BY_STATUS: Readonly<Record<ChargingStatus, ConnectorState>> = {
  Available: { word: 'Free', definition: 'No car is plugged in.' },
  Preparing: { word: 'Plugged in', definition: 'A car is plugged in; charging has not begun.' },
  Charging: { word: 'Charging', definition: 'The car is charging.' },
  SuspendedEV: {
    word: 'Full or resting',
    definition: 'The car takes no power, though it may: it is full, or waits.',
  },
  SuspendedEVSE: {
    word: 'Paused',
    definition: 'The charger gives no power: it is paused, or not authorized.',
  },
  Finishing: { word: 'Finished', definition: 'Charging has ended; the car is still plugged in.' },
  Faulted: { word: 'Fault', definition: 'The charger reports a fault.', tone: 'bad' },
  Unavailable: { word: 'Out of service', definition: 'The charger is out of service.', tone: 'warning' },
};

const PAUSED: ConnectorState = {
  word: 'Paused',
  definition: 'A car is plugged in, and its limit is 0 A for now.',
};

const WANTS_POWER: readonly ChargingStatus[] = ['Preparing', 'Charging', 'SuspendedEVSE'];

export function stateOf({
  status,
  link,
  chargingStatus,
  limitA,
  lastHeardSecondsAgo,
}: Pick<
  ShownConnector,
  'status' | 'link' | 'chargingStatus' | 'limitA' | 'lastHeardSecondsAgo'
>): ConnectorState {
  if (status === 'INACTIVE') return { word: 'Inactive', definition: 'INACTIVE in the provisioning file.' };
  if (link === 'offline')
    return lastHeardSecondsAgo === null
      ? {
          word: 'Never connected',
          definition: 'Its charger has not connected since the service started.',
          tone: 'warning',
        }
      : { word: 'Offline', definition: 'Its charger is not connected.', tone: 'bad' };
  if (link === 'stale')
    return { word: 'Silent', definition: 'Its charger sends no meter values.', tone: 'warning' };
  if (chargingStatus === null)
    return { word: 'Unknown', definition: 'Its charger has not reported a status.' };
  if (limitA === 0 && WANTS_POWER.includes(chargingStatus)) return PAUSED;
  const state = BY_STATUS[chargingStatus];
  return { ...state, definition: `${state.definition} OCPP: ${chargingStatus}.` };
}
