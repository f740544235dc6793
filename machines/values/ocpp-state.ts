// State of a connector behind an OCPP gateway, for people: its path from a connection to a lease. It decides nothing.

export const OCPP_STATES = [
  'disconnected',
  'booting',
  'rejected',
  'configuring',
  'installingFailsafe',
  'provingLease',
  'leased',
  'unleased',
] as const;
export type OcppState = (typeof OCPP_STATES)[number];
