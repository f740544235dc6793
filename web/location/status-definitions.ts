// What the words of OCPP 1.6 for the status of a connector mean, as the glossary says it.
import type { ConnectorLive } from '../../src/wire/operator-locations.js';

export const STATUS_DEFINITIONS: Readonly<Record<NonNullable<ConnectorLive['chargingStatus']>, string>> = {
  Available: 'No car is plugged in.',
  Preparing: 'A car is plugged in; charging has not begun.',
  Charging: 'The car is charging.',
  SuspendedEV: 'The car takes no power, though it may: it is full, or waits.',
  SuspendedEVSE: 'The charger gives no power: it is paused, or not authorized.',
  Finishing: 'Charging has ended; the car is still plugged in.',
  Faulted: 'The charger reports a fault.',
  Unavailable: 'The charger is out of service.',
};
