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
};

/** One line of text for each term. */
export const LEGEND: readonly (readonly [name: string, meaning: string])[] = [
  ['delivered', 'energy that cars got, of what they wanted while they were there'],
  ['starts/session', 'how often charging began for each car: 1 is best, more means that cars were paused'],
  [
    'fairness',
    'Jain’s index over the share of its energy that each car got: 1 where all got the same share, near 0 where few got all',
  ],
  ['throttled', 'how long a car, or a locked connector, was held below what it could have used'],
  [
    'P1 to P20',
    `what must never happen, checked at every event: ${Object.entries(INVARIANTS)
      .map(([number, subject]) => `${number} ${subject}`)
      .join(', ')}`,
  ],
];

/** Such as `P17 (import of a site with a building)`. */
export function invariantName(invariant: string): string {
  const subject = INVARIANTS[invariant];
  return subject === undefined ? invariant : `${invariant} (${subject})`;
}
