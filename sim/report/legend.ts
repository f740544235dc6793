// Explanations of the terms in a result, for the terminal, for `--help` and for the page of a report.

/** Subject of each invariant, by its number; docs/simulation.md has the full text. */
const INVARIANTS: Readonly<Record<string, string>> = {
  P1: 'power within the limit, the connection and the fuses',
  P2: 'limits that chargers may still follow fit together',
  P3: 'no limit between 0 and 6 A',
  P4: 'locks',
  P5: 'the limit in force',
  P6: 'windows on time',
  P7: 'no outdated limit',
  P8: 'messages twice or out of order',
  P9: 'writes survive crashes',
  P10: 'members of clusters',
  P11: 'tenants apart',
  P12: 'recovery after faults',
  P13: 'memory and queues',
  P14: 'no internal error',
  P15: 'same seed, same trace',
  P16: 'rare branches reached',
  P17: 'import of a site with a building',
  P18: 'grid operator',
  P19: 'one writer among nodes',
  P20: 'average import that a tariff bills',
  P21: 'departures of the car that is there',
  P22: 'order of declared cars',
  P23: 'no car waits beside power for it',
  P24: 'honest forecasts',
  P25: 'energy of sessions',
};

/** One line of text for each term. */
export const LEGEND: readonly (readonly [name: string, meaning: string])[] = [
  ['delivered', 'energy for cars, of the energy that they wanted during their visits'],
  ['starts/session', 'times that charging began for each car: 1 is best, more means that cars were paused'],
  [
    'fairness',
    'Jain’s index over the shares of energy that cars got: 1 if all got the same share, near 0 if few got all',
  ],
  ['throttled', 'time for which a car, or a locked connector, was held below its possible power'],
  [
    'P1 to P25',
    `rules that must never break, checked at every event: ${Object.entries(INVARIANTS)
      .map(([number, subject]) => `${number} ${subject}`)
      .join(', ')}`,
  ],
];

/** Such as `P17 (import of a site with a building)`. */
export function invariantName(invariant: string): string {
  const subject = INVARIANTS[invariant];
  return subject === undefined ? invariant : `${invariant} (${subject})`;
}
