// Sessions that a connector's charger named, for each of its starts whose messages may still be under way.

/** A plugged-in car, with the number of phases that it has used. */
interface KnownSession {
  readonly boot: string;
  /** Session id by its charger; undefined if the charger names none, or without a car. */
  readonly id: string | undefined;
  readonly seenPhases: number;
}

/** Starts of a charger whose messages may still be under way. */
const BOOTS_KEPT = 4;

export class KnownSessions {
  /** By the start of the charger that named the session; the start received last comes first. */
  #sessions: KnownSession[] = [];
  /**
   * Session in the last overtaken message: a service that has just started cannot detect that the message was
   * overtaken.
   */
  #late: { readonly boot: string; readonly id: string | undefined } | undefined;

  /** A meter value named the present session, and the number of its phases with current. */
  note(boot: string, id: string | undefined, phases: number): void {
    const [newest] = this.#sessions;
    if (newest?.boot === boot && newest.id === id && newest.seenPhases >= phases) return;
    const before = this.in(boot);
    const seenPhases = before?.id === id ? Math.max(before?.seenPhases ?? 0, phases) : phases;
    const others = this.#sessions.filter((each) => each.boot !== boot);
    this.#sessions = [{ boot, id, seenPhases }, ...others].slice(0, BOOTS_KEPT);
  }

  /** An overtaken meter value named that session. */
  noteLate(boot: string, id: string | undefined): void {
    this.#late = { boot, id };
  }

  /** True if the last overtaken meter value named that session. */
  isLate(boot: string, id: string): boolean {
    return this.#late?.boot === boot && this.#late.id === id;
  }

  /**
   * Newest session of that start. After a late message the service may answer one that is over, and the charger
   * refuses the answer.
   */
  in(boot: string | undefined = ''): KnownSession | undefined {
    return this.#sessions.find((each) => each.boot === boot);
  }
}
