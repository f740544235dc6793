// Ready-made sets of faults: what `faults: light` and `faults: heavy` stand for, written as a scenario would write them.

/** They end an eighth hour before the run does, so that it can show how it recovers. */
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

/** Everything at once and often, as no site has it: what remains unbroken here does not break. */
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
