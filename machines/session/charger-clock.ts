// Estimates a charger's own clock from its timestamps, and judges if a lease may rely on that clock.

/**
 * A clock may run this share too slow or too fast. The service's ledger counts leases 2 % longer for the same reason.
 */
const DRIFT_SHARE = 0.02;
/** Timestamps are whole seconds, and messages take a moment to arrive. */
const JITTER_MS = 2_000;
/** A larger step between two timestamps is no jitter. */
const JUMP_MS = 5_000;
/** The charger held back a timestamp that is older than this on arrival, or its clock was set back. */
const LATE_MS = 10_000;
/** A charger delivers all messages that it held back during a lost connection within this time. */
const DELIVERED_WITHIN_MS = 5_000;
/** Drift is computed from the least delayed timestamp of each span of this length. */
const SPAN_MS = 60_000;
/** Longest period over which drift is measured. */
const MEMORY_MS = 900_000;
/** A clock that failed is trusted again once it has run steadily for this long. */
export const STEADY_MS = 120_000;

/** A charger may cut its clock reading to whole seconds. */
const WHOLE_SECOND_MS = 1_000;

/**
 * Verdict on a timestamp.
 * - `late`: of no use now, but no reason yet to distrust the clock.
 * - `setBack`: the clock went back a little, as a correction does; no lease may count from an earlier instant.
 * - `lateBefore`: earlier timestamps arrived late; a lease that counts from them ends too early.
 * - `unknown`: the clock may have been set before its first known reading.
 */
export type ClockVerdict = 'steady' | 'late' | 'setBack' | 'lateBefore' | 'jumped' | 'drifting' | 'unknown';

/** Charger's clock minus the gateway's clock, as the timestamps show it. The true difference is never smaller. */
interface Offset {
  readonly offsetMs: number;
  readonly atMs: number;
}

/**
 * `ownMs` are instants of the charger's clock, `nowMs` of the gateway's monotonic one. The charger's clock need not
 * agree with any other clock.
 */
export class ChargerClock {
  #best: Offset | undefined;
  /** A reading on request confirmed the offset, so the offset is not that of a late timestamp. */
  #isConfirmed = false;
  #late: Offset | undefined;
  /** The least delayed timestamp of each finished span, oldest first. */
  readonly #spans: Offset[] = [];
  #span: Offset | undefined;
  #spanEndsAtMs = 0;
  /** Undefined once a timestamp at `steadyAtMs` or later shows that the clock has run steadily since the failure. */
  #failure: { readonly why: string; readonly steadyAtMs: number } | undefined;

  /** Reason for the distrust, in words; undefined while the clock is trusted. */
  get unverifiedReason(): string | undefined {
    return this.#best === undefined ? 'it has sent no timestamp yet' : this.#failure?.why;
  }

  /** Age of the newest useful timestamp; infinite before the first. */
  ageMs(nowMs: number): number {
    return this.#best === undefined ? Number.POSITIVE_INFINITY : nowMs - this.#best.atMs;
  }

  /** Lower bound of the charger's clock at `nowMs`; undefined before the first timestamp. */
  ownAt(nowMs: number): number | undefined {
    if (this.#best === undefined) return undefined;
    return Math.floor(nowMs + this.#offsetAt(this.#best, nowMs));
  }

  /** The charger may have another time after a start. */
  restart(): void {
    this.forget();
    this.#failure = undefined;
  }

  /**
   * @param askedAtMs instant of the request that this reading answers; without it the timestamp may date a past event
   */
  note(ownMs: number, nowMs: number, askedAtMs?: number): ClockVerdict {
    const latestMs = ownMs + nowMs - (askedAtMs ?? Number.NEGATIVE_INFINITY) + WHOLE_SECOND_MS;
    const aheadMs = (this.ownAt(nowMs) ?? Number.NEGATIVE_INFINITY) - latestMs;
    if (aheadMs > 0 && aheadMs <= JUMP_MS) {
      this.#best = undefined;
      const verdict = this.#take({ offsetMs: ownMs - nowMs, atMs: nowMs });
      return verdict === 'steady' ? 'setBack' : verdict;
    }
    if (aheadMs > JUMP_MS) {
      const seen = { offsetMs: ownMs - nowMs, atMs: nowMs };
      return this.#distrust('jumped', `it went ${inS(aheadMs)} s back`, seen);
    }
    const verdict = this.#note(ownMs, nowMs);
    const isShown = verdict === 'steady' || verdict === 'lateBefore';
    if (isShown && askedAtMs !== undefined) this.#isConfirmed = true;
    if (verdict !== 'steady') return verdict;
    // The passage of time proves nothing: the charger may have been out of contact and started anew meanwhile.
    if (this.#failure !== undefined && nowMs >= this.#failure.steadyAtMs) this.#failure = undefined;
    return verdict;
  }

  /**
   * True if a timestamp that arrives now shows that the clock was not set back. A delayed timestamp does not show it.
   */
  isAtLeast(ownMs: number, nowMs: number): boolean {
    return ownMs >= (this.ownAt(nowMs) ?? Number.POSITIVE_INFINITY) - WHOLE_SECOND_MS;
  }

  #note(ownMs: number, nowMs: number): ClockVerdict {
    const seen = { offsetMs: ownMs - nowMs, atMs: nowMs };
    const best = this.#best;
    if (best === undefined) return this.#take(seen);
    const apartMs = seen.offsetMs - best.offsetMs;
    const driftMs = DRIFT_SHARE * (nowMs - best.atMs);
    if (apartMs > JUMP_MS && !this.#isConfirmed) {
      this.forget();
      this.#take(seen);
      return 'lateBefore';
    }
    if (apartMs > JUMP_MS + driftMs)
      return this.#distrust('jumped', `it went ${inS(apartMs)} s forward`, seen);
    if (apartMs < -(LATE_MS + driftMs)) return this.#noteLate(seen, apartMs);
    this.#late = undefined;
    return this.#take(seen);
  }

  /**
   * The charger held back a single late value, together with the values that arrive with it. Two values that are late
   * by the same time show a clock that was set back. They must arrive further apart than values held back together.
   */
  #noteLate(seen: Offset, apartMs: number): ClockVerdict {
    const before = this.#late;
    const isSame = before !== undefined && Math.abs(seen.offsetMs - before.offsetMs) < JUMP_MS;
    if (!isSame) this.#late = seen;
    if (!isSame || seen.atMs - before.atMs < DELIVERED_WITHIN_MS) return 'late';
    return this.#distrust('jumped', `it went ${inS(-apartMs)} s back`, seen);
  }

  #take(seen: Offset): ClockVerdict {
    const best = this.#best;
    const isBetter = best === undefined || seen.offsetMs >= this.#offsetAt(best, seen.atMs);
    if (isBetter) this.#best = seen;
    if (this.#span === undefined || seen.atMs >= this.#spanEndsAtMs) this.#beginSpan(seen);
    else if (seen.offsetMs > this.#span.offsetMs) this.#span = seen;
    const driftMs = this.#driftMs();
    if (driftMs === undefined) return 'steady';
    const words = driftMs < 0 ? 'slow' : 'fast';
    return this.#distrust('drifting', `it runs more than 2 % too ${words}`, seen);
  }

  #beginSpan(seen: Offset): void {
    if (this.#span !== undefined) this.#spans.push(this.#span);
    this.#span = seen;
    this.#spanEndsAtMs = seen.atMs + SPAN_MS;
    while ((this.#spans[0]?.atMs ?? seen.atMs) < seen.atMs - MEMORY_MS) this.#spans.shift();
  }

  /** Change from an older span to the newest finished one; undefined within the tolerance. */
  #driftMs(): number | undefined {
    const newest = this.#spans.at(-1);
    if (newest === undefined) return undefined;
    for (const span of this.#spans) {
      const changeMs = newest.offsetMs - span.offsetMs;
      if (Math.abs(changeMs) > JITTER_MS + DRIFT_SHARE * (newest.atMs - span.atMs)) return changeMs;
    }
    return undefined;
  }

  /** A slow clock may have lost up to the drift share since that timestamp. */
  #offsetAt({ offsetMs, atMs }: Offset, nowMs: number): number {
    return offsetMs - DRIFT_SHARE * Math.max(0, nowMs - atMs);
  }

  #distrust(verdict: ClockVerdict, why: string, seen: Offset): ClockVerdict {
    this.forget();
    this.#best = seen;
    this.#failure = { why, steadyAtMs: seen.atMs + STEADY_MS };
    return verdict;
  }

  /** The clock may have been set, so earlier readings do not apply any more. A recorded failure stays. */
  forget(): void {
    this.#best = undefined;
    this.#isConfirmed = false;
    this.#late = undefined;
    this.#span = undefined;
    this.#spans.length = 0;
  }
}

function inS(ms: number): number {
  return Math.round(ms / 1000);
}
