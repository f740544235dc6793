// Predefined sets of faults for `faults: light` and `faults: heavy`, in the notation of a scenario.

/** Faults end 8 minutes before the end of the run, so that the run shows the recovery. */
const UNTIL = { until: '-8m' };

/** An ordinary bad day: mobile links, a restart, an update. */
const LIGHT = [
  { kind: 'loss', share: [0, 0.03], ...UNTIL },
  { kind: 'duplication', share: [0, 0.01], ...UNTIL },
  { kind: 'delay', upTo: ['0s', '2s'], ...UNTIL },
  { kind: 'partition', for: ['10s', '5m'], every: ['4h', '24h'], ...UNTIL },
  { kind: 'reboot', every: ['12h', '48h'], ...UNTIL },
  { kind: 'serviceCrash', for: ['2s', '30s'], every: ['8h', '24h'], ...UNTIL },
  { kind: 'clockDrift', share: [-0.005, 0.005] },
  { kind: 'gatewayCrash', for: ['2s', '30s'], every: ['8h', '24h'], ...UNTIL },
];

/** All faults at once and often, more than at any real site. A site that passes withstands ordinary faults as well. */
const HEAVY = [
  { kind: 'loss', share: [0, 0.3], ...UNTIL },
  { kind: 'duplication', share: [0, 0.2], ...UNTIL },
  { kind: 'delay', upTo: ['0s', '20s'], ...UNTIL },
  { kind: 'hold', share: [0, 0.1], upTo: ['10s', '3m'], ...UNTIL },
  { kind: 'partition', for: ['5s', '10m'], every: ['10m', '2h'], ...UNTIL },
  { kind: 'partition', direction: 'up', for: ['5s', '5m'], every: ['20m', '4h'], ...UNTIL },
  { kind: 'partition', direction: 'down', for: ['5s', '5m'], every: ['20m', '4h'], ...UNTIL },
  { kind: 'reboot', every: ['15m', '4h'], ...UNTIL },
  { kind: 'serviceCrash', for: ['1s', '3m'], every: ['15m', '2h'], ...UNTIL },
  { kind: 'brokerRestart', for: ['1s', '30s'], every: ['30m', '4h'], ...UNTIL },
  { kind: 'databaseBusy', for: ['1s', '40s'], every: ['20m', '2h'], ...UNTIL },
  { kind: 'clockDrift', share: [-0.02, 0.02] },
  { kind: 'gatewayCrash', for: ['1s', '3m'], every: ['15m', '2h'], ...UNTIL },
];

export const FAULT_LEVELS = { none: [], light: LIGHT, heavy: HEAVY };
export type FaultLevel = keyof typeof FAULT_LEVELS;
