// State of a connector as a word for the activity of its car. The reason of the limit, next to it, explains a low
// power.
import type { ConnectorLive } from '../../src/features/live/contract.js';
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

type OcppState = NonNullable<ConnectorLive['ocppState']>;

/** Behind the OCPP gateway, from its connection to its lease; with the meanings of docs/ocpp.md. */
const BY_OCPP_STATE: Readonly<Record<OcppState, ConnectorState>> = {
  disconnected: {
    word: 'Disconnected',
    definition: 'Its charger is not connected to the gateway.',
    tone: 'warning',
  },
  booting: {
    word: 'Starting',
    definition: 'Its charger has connected, and the gateway waits for its start.',
  },
  rejected: {
    word: 'Rejected by its management system',
    definition: 'The gateway sends it no requests until its management system accepts it.',
    tone: 'warning',
  },
  configuring: {
    word: 'Being configured',
    definition: 'The gateway reads its abilities and sets its reports.',
  },
  installingFailsafe: { word: 'Takes its fail-safe', definition: 'The gateway installs its fail-safe.' },
  provingLease: {
    word: 'Proving its lease',
    definition: 'It has a limit, and is to show that it lowers its current when the lease ends.',
  },
  leased: { word: 'Leased', definition: 'It has shown that it lowers its current when a lease ends.' },
  unleased: {
    word: 'Not leased',
    definition: 'It has not shown that it lowers its current when a lease ends. Its maximum is reserved.',
    tone: 'warning',
  },
};

/** Undefined for a connector that is not behind an OCPP gateway. */
export function ocppStateOf({
  ocppState,
  whyNoLease,
}: Pick<ConnectorLive, 'ocppState' | 'whyNoLease'>):
  | (ConnectorState & { readonly sentence: string })
  | undefined {
  if (ocppState === null) return undefined;
  const state = BY_OCPP_STATE[ocppState];
  const isReasonItself = whyNoLease === null || ocppState === 'rejected';
  return { ...state, sentence: isReasonItself ? state.word : `${state.word}: ${whyNoLease}` };
}

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
