// Values that each slot may hold after a crash, derived only from the writes of clients and their answers.

/** Values that one write sets, by slot: either all of them or none. */
export type Values = Readonly<Record<string, string>>;

/** Value of a slot that was never written. */
export const NOTHING = 'nothing';

export type Outcome = 'unknown' | 'acknowledged' | 'refused';

export interface Attempt {
  readonly values: Values;
  /** Counted in events, because only their order matters. */
  readonly sentAt: number;
  endedAt: number;
  /** Unknown as long as there is no answer, and forever if none came. */
  outcome: Outcome;
}

export interface Ledger {
  /** All writes that were sent. */
  readonly attempts: readonly Attempt[];
  /** Takes the current values of the slots as given. */
  begin(held: ReadonlyMap<string, string>): void;
  /** Records a sent write; call the returned function with its outcome. */
  send(values: Values): (outcome: Outcome) => void;
  /** Messages about every slot with a forbidden value; afterwards the ledger continues from `held`. */
  settle(held: ReadonlyMap<string, string>): readonly string[];
}

export function createLedger(): Ledger {
  const attempts: Attempt[] = [];
  let given = new Map<string, string>();
  let open = new Map<string, Attempt[]>();
  let events = 0;

  /**
   * A write can no longer be visible after the acknowledgement of another one that was sent after the first had ended.
   */
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
