/** Status values of OCPP 1.6, as chargers send them. */
export const CHARGING_STATUSES = [
  'Available',
  'Preparing',
  'Charging',
  'SuspendedEV',
  'SuspendedEVSE',
  'Finishing',
  'Faulted',
  'Unavailable',
] as const;
export type ChargingStatus = (typeof CHARGING_STATUSES)[number];
