// Which cars a connector's charger named, in each start of it of which messages may still be under way.

/** A car that is plugged in: how many phases it has used. */
interface KnownSession {
  readonly boot: string;
  /** As its charger names it; undefined where it names none, or no car is there. */
  readonly id: string | undefined;
  readonly seenPhases: number;
}

/** Starts of a charger of which messages may still be under way. */
const BOOTS_KEPT = 4;

export class KnownSessions {
  /** By the start of the charger that named it, the one heard of last first. */
  #sessions: KnownSession[] = [];
  /** Named last, by what was overtaken: a service that has just started cannot know that it was. */
  #late: { readonly boot: string; readonly id: string | undefined } | undefined;

  /** A meter value said which car is there, and on how many of its phases current flows. */
  note(boot: string, id: string | undefined, phases: number): void {
    const [newest] = this.#sessions;
    if (newest?.boot === boot && newest.id === id && newest.seenPhases >= phases) return;
    const before = this.in(boot);
    const seenPhases = before?.id === id ? Math.max(before?.seenPhases ?? 0, phases) : phases;
    const others = this.#sessions.filter((each) => each.boot !== boot);
    this.#sessions = [{ boot, id, seenPhases }, ...others].slice(0, BOOTS_KEPT);
  }

  /** A meter value that was overtaken named that car. */
  noteLate(boot: string, id: string | undefined): void {
    this.#late = { boot, id };
  }

  /** Whether that was the last to name it. */
  isLate(boot: string, id: string): boolean {
    return this.#late?.boot === boot && this.#late.id === id;
  }

  /** The newest it named in that start: what is late may have a service answer one that is over, which the charger refuses. */
  in(boot: string | undefined = ''): KnownSession | undefined {
    return this.#sessions.find((each) => each.boot === boot);
  }
}
