// State of a connector behind a gateway, for people: its path from a connection to a lease. It decides nothing.

export const SESSION_STATES = [
  'disconnected',
  'booting',
  'rejected',
  'configuring',
  'installingFailsafe',
  'provingLease',
  'leased',
  'unleased',
] as const;
export type SessionState = (typeof SESSION_STATES)[number];
