// A charger's own clock as its timestamps show it: what it reads now at the least, and whether a lease may hang on it.

/** A clock may be this much slow or fast. The ledger of the service counts leases 2 % longer for the same reason. */
const DRIFT_SHARE = 0.02;
/** Timestamps are whole seconds, and messages are a moment on their way. */
const JITTER_MS = 2_000;
/** A step between two timestamps larger than this is no jitter. */
const JUMP_MS = 5_000;
/** A timestamp that is older than this when it comes was kept back, or the clock was set back. */
const LATE_MS = 10_000;
/** What was kept back while a connection was broken is delivered within this time, message after message. */
const DELIVERED_WITHIN_MS = 5_000;
/** Drift is told from the least delayed timestamp of each of these spans. */
const SPAN_MS = 60_000;
/** Drift is measured over this long at most. */
const MEMORY_MS = 900_000;
/** A clock that failed is trusted again once it has shown that it ran steadily for so long. */
export const STEADY_MS = 120_000;

/** What a charger says its clock reads may be cut to whole seconds. */
const WHOLE_SECOND_MS = 1_000;

/**
 * What a timestamp says of the clock. `late`: of no use now, and not yet a reason to distrust it. `setBack`: a little, as a clock
 * that is set right is; no lease may count from before. `lateBefore`: those before it were late, and a lease that counts from them ends
 * too early. `unknown`: it may have been set before anything was known of it.
 */
export type ClockVerdict = 'steady' | 'late' | 'setBack' | 'lateBefore' | 'jumped' | 'drifting' | 'unknown';

/** The difference between its clock and ours, as far as timestamps show it: the true one is never smaller. */
interface Offset {
  readonly offsetMs: number;
  readonly atMs: number;
}

/** `ownMs` are instants of the charger's clock, `nowMs` of our monotonic one. It need not agree with anybody's clock. */
export class ChargerClock {
  #best: Offset | undefined;
  /** It was looked at, so that what was known of it then was not late. */
  #isConfirmed = false;
  #late: Offset | undefined;
  /** The least delayed of the spans that are over, oldest first. */
  readonly #spans: Offset[] = [];
  #span: Offset | undefined;
  #spanEndsAtMs = 0;
  /** Undefined once it has shown, `steadyAtMs` or later, that it has run steadily since. */
  #failure: { readonly why: string; readonly steadyAtMs: number } | undefined;

  /** Why it is not trusted, in words; undefined where it is. */
  get whyDistrusted(): string | undefined {
    return this.#best === undefined ? 'it has sent no timestamp yet' : this.#failure?.why;
  }

  /** How old the newest timestamp that was of use is; infinite before the first. */
  ageMs(nowMs: number): number {
    return this.#best === undefined ? Number.POSITIVE_INFINITY : nowMs - this.#best.atMs;
  }

  /** What it reads at `nowMs` at the least; undefined before the first timestamp. */
  ownAt(nowMs: number): number | undefined {
    if (this.#best === undefined) return undefined;
    return Math.floor(nowMs + this.#offsetAt(this.#best, nowMs));
  }

  /** The charger started anew: it may have another time since. */
  restart(): void {
    this.forget();
    this.#failure = undefined;
  }

  /**
   * A timestamp came now.
   * @param askedAtMs it is what its clock read after it was asked for that then; left out it may be of something that is over
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
    // That time has passed shows nothing: nobody may have heard of it meanwhile, and it may have started anew.
    if (this.#failure !== undefined && nowMs >= this.#failure.steadyAtMs) this.#failure = undefined;
    return verdict;
  }

  /** Whether a timestamp that comes now shows that it was not set back: one that was long on its way does not. */
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
   * One such value was kept back somewhere, and so was what comes with it. Two that are late by the same, and come further apart than
   * what was kept back together, are a clock that was set back.
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

  /** By how much the newest span that is over differs from an older one, where that is more than may be. */
  #driftMs(): number | undefined {
    const newest = this.#spans.at(-1);
    if (newest === undefined) return undefined;
    for (const span of this.#spans) {
      const changeMs = newest.offsetMs - span.offsetMs;
      if (Math.abs(changeMs) > JITTER_MS + DRIFT_SHARE * (newest.atMs - span.atMs)) return changeMs;
    }
    return undefined;
  }

  /** A slow clock has fallen behind by that much at most since. */
  #offsetAt({ offsetMs, atMs }: Offset, nowMs: number): number {
    return offsetMs - DRIFT_SHARE * Math.max(0, nowMs - atMs);
  }

  #distrust(verdict: ClockVerdict, why: string, seen: Offset): ClockVerdict {
    this.forget();
    this.#best = seen;
    this.#failure = { why, steadyAtMs: seen.atMs + STEADY_MS };
    return verdict;
  }

  /** It may have been set: what it read before says nothing of now. Where it failed, that stays. */
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
