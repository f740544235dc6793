// What each slot may hold after a crash, known only from what clients sent and what they were answered.

/** The value of each slot one write sets: all of them or none. */
export type Values = Readonly<Record<string, string>>;

/** What a slot holds that nothing was ever put in. */
export const NOTHING = 'nothing';

export type Outcome = 'unknown' | 'acknowledged' | 'refused';

export interface Attempt {
  readonly values: Values;
  /** Counted in events, for only their order matters. */
  readonly sentAt: number;
  endedAt: number;
  /** Unknown for as long as there is no answer, and for ever where none came. */
  outcome: Outcome;
}

export interface Ledger {
  /** Everything that was ever sent. */
  readonly attempts: readonly Attempt[];
  /** Takes what slots hold as given. */
  begin(held: ReadonlyMap<string, string>): void;
  /** Notes that a write is on its way; call what it gives with the answer. */
  send(values: Values): (outcome: Outcome) => void;
  /** Every slot that holds what it must not, in words; then goes on from what is held. */
  settle(held: ReadonlyMap<string, string>): readonly string[];
}

export function createLedger(): Ledger {
  const attempts: Attempt[] = [];
  let given = new Map<string, string>();
  let open = new Map<string, Attempt[]>();
  let events = 0;

  /** A write is gone for good once another was acknowledged that was sent after the first had ended. */
  function mayHold(slot: string): ReadonlySet<string> {
    const written = (open.get(slot) ?? []).filter(({ outcome }) => outcome !== 'refused');
    const replacedBefore = Math.max(
      -1,
      ...written.filter(({ outcome }) => outcome === 'acknowledged').map(({ sentAt }) => sentAt),
    );
    const values = written
      .filter(({ endedAt }) => endedAt > replacedBefore)
      .map(({ values }) => values[slot]);
    if (replacedBefore === -1) values.push(given.get(slot) ?? NOTHING);
    return new Set(values.filter((value) => value !== undefined));
  }

  function begin(held: ReadonlyMap<string, string>): void {
    given = new Map(held);
    open = new Map();
  }

  return {
    attempts,
    begin,
    send(values) {
      events += 1;
      const attempt: Attempt = {
        values,
        sentAt: events,
        endedAt: Number.POSITIVE_INFINITY,
        outcome: 'unknown',
      };
      attempts.push(attempt);
      for (const slot of Object.keys(values)) open.set(slot, [...(open.get(slot) ?? []), attempt]);
      return (outcome) => {
        events += 1;
        attempt.endedAt = events;
        attempt.outcome = outcome;
      };
    },
    settle(held) {
      const wrong: string[] = [];
      for (const slot of new Set([...given.keys(), ...open.keys(), ...held.keys()])) {
        const value = held.get(slot) ?? NOTHING;
        const expected = mayHold(slot);
        if (!expected.has(value)) wrong.push(`${slot} holds ${value}, not ${[...expected].join(' or ')}`);
      }
      begin(held);
      return wrong;
    },
  };
}
