// What a site may import on average over the windows that its tariff bills: what of it is used, and what that leaves now.
import type { EpochMs } from '../values/time.js';
import type { LimitOutlook } from './limit-in-force.js';

/** As it is provisioned for a location. */
export interface PeakShavingRule {
  /** What the import may be on average over a window. */
  readonly limitKw: number;
  /** Windows begin at whole multiples of this since the epoch, as the tariff's do. */
  readonly windowMs: number;
}

/** What a window's import came to, kept over a restart. */
export interface BilledSoFar {
  readonly startsAtMs: EpochMs;
  /** W s. */
  readonly usedWs: number;
  /** Until when that is counted: what was imported later is not known. */
  readonly countedUntilMs: EpochMs;
}

/** What the site imports, W. */
export interface SiteImport {
  /** By the newest reports; what does not report counts with the most it may draw. */
  readonly measuredW: number;
  /** Everything that is in reach has reported since. */
  readonly reportedSinceMs: EpochMs;
  /** The most that it can be, whatever happened since. */
  readonly mostW: number;
}

/** What is left for the chargers is rounded down to this, and what the site may import is raised no more often than this. */
const STEP_W = 100;
const RAISED_EVERY_MS = 30_000;
/** Reports that are farther apart do not tell what was between them. */
const LONGEST_GAP_MS = 60_000;

export class BilledWindow {
  readonly rule: PeakShavingRule;
  readonly #mostEverW: number;
  /** Of the window that is counted: it may have ended, and not everything in it have been reported yet. */
  #startsAtMs: EpochMs;
  #usedWms = 0;
  #countedMs: EpochMs;
  /** The most that was reported since `#countedMs`; undefined before the first report. */
  #reportedW: number | undefined;
  /** The most that the import can have been since `#countedMs`. */
  #mostW: number;
  /** What the site may import from now on. */
  #siteW = 0;
  #leavesW = 0;
  #raisedAtMs: EpochMs = Number.NEGATIVE_INFINITY;
  #now: EpochMs;

  /**
   * @param mostEverW what the site can import at most, W: what was imported while nobody counted is taken to be that
   * @param before what was counted before a restart; undefined where nothing ever was: then the window is taken to have been
   * within its average until now
   */
  constructor(rule: PeakShavingRule, mostEverW: number, now: EpochMs, before: BilledSoFar | undefined) {
    this.rule = rule;
    this.#mostEverW = mostEverW;
    this.#mostW = mostEverW;
    this.#now = now;
    this.#startsAtMs = this.#startOf(now);
    this.#countedMs = now;
    const isSame = before?.startsAtMs === this.#startsAtMs;
    const isOver = before !== undefined && before.countedUntilMs <= this.#startsAtMs;
    // What was counted of windows of another length, or by a clock that was ahead, says nothing of this one.
    if (before === undefined || before.countedUntilMs > now || !(isSame || isOver))
      this.#usedWms = this.#presumedWms(now);
    else {
      this.#countedMs = Math.max(this.#startsAtMs, before.countedUntilMs);
      this.#usedWms = isSame ? before.usedWs * 1000 : 0;
    }
  }

  /** The window of the last instant that was told. */
  get startsAtMs(): EpochMs {
    return this.#startOf(this.#now);
  }

  get endsAtMs(): EpochMs {
    return this.startsAtMs + this.rule.windowMs;
  }

  /** What is used of that window, W s: what nobody has reported yet counts with the most that it can be. */
  get usedWs(): number {
    return this.#usedWmsAt(this.#now) / 1000;
  }

  /** What the average leaves for the chargers until the window ends, W. */
  get leavesW(): number {
    return this.#leavesW;
  }

  /** To be kept over a restart. */
  get soFar(): BilledSoFar {
    return {
      startsAtMs: this.#startsAtMs,
      usedWs: this.#usedWms / 1000,
      countedUntilMs: this.#countedMs,
    };
  }

  /** Counts what was imported until everything has reported; between two reports it was the higher of both. */
  note({ measuredW, reportedSinceMs, mostW }: SiteImport, now: EpochMs): void {
    this.#now = Math.max(this.#now, now);
    const importW = Math.max(0, measuredW);
    const untilMs = Math.min(reportedSinceMs, this.#now);
    const isFirst = this.#reportedW === undefined && untilMs === this.#countedMs;
    if (untilMs <= this.#countedMs && !isFirst) {
      if (this.#reportedW !== undefined) this.#reportedW = Math.max(this.#reportedW, importW);
      this.#mostW = Math.max(this.#mostW, mostW, importW);
      return;
    }
    const isKnown = this.#reportedW !== undefined && untilMs - this.#countedMs <= LONGEST_GAP_MS;
    this.#count(untilMs, isKnown ? Math.max(this.#reportedW ?? 0, importW) : Math.max(this.#mostW, importW));
    this.#reportedW = importW;
    this.#mostW = Math.max(mostW, importW);
  }

  /**
   * What the rest of the window leaves for the chargers, W: what is left of its energy, spread evenly, less what is beside them.
   * What the site may import falls at once, and rises in steps.
   * @param besideW what the building counts as, and what is kept free beside it
   */
  follow(besideW: number, now: EpochMs): number {
    const isNewWindow = this.#startOf(now) !== this.startsAtMs;
    this.#now = Math.max(this.#now, now);
    const { limitKw, windowMs } = this.rule;
    const leftWms = 1000 * limitKw * windowMs - this.#usedWmsAt(this.#now);
    const siteW = Math.min(leftWms / (this.endsAtMs - this.#now), this.#mostEverW);
    const isRaiseDue = isNewWindow || this.#now - this.#raisedAtMs >= RAISED_EVERY_MS;
    if (siteW > this.#siteW && isRaiseDue) this.#raisedAtMs = this.#now;
    if (siteW < this.#siteW || isRaiseDue) this.#siteW = siteW;
    this.#leavesW = rounded(this.#siteW - besideW);
    return this.#leavesW;
  }

  /** The same, and what the windows after this one leave when they begin. */
  outlook(besideW: number, now: EpochMs): LimitOutlook {
    const limitKw = this.follow(besideW, now) / 1000;
    return { limitKw, endsAtMs: this.endsAtMs, thenKw: this.leavesAtFirstW(besideW) / 1000 };
  }

  /** What a window that begins leaves for the chargers, W. */
  leavesAtFirstW(besideW: number): number {
    return rounded(1000 * this.rule.limitKw - besideW);
  }

  /** The clock was set: nobody knows what belongs to which window, so this one is taken to have been within its average. */
  restart(now: EpochMs): void {
    this.#now = now;
    this.#startsAtMs = this.#startOf(now);
    this.#countedMs = now;
    this.#usedWms = this.#presumedWms(now);
    this.#raisedAtMs = Number.NEGATIVE_INFINITY;
  }

  #startOf(atMs: EpochMs): EpochMs {
    return Math.floor(atMs / this.rule.windowMs) * this.rule.windowMs;
  }

  #presumedWms(now: EpochMs): number {
    return 1000 * this.rule.limitKw * (now - this.#startOf(now));
  }

  #usedWmsAt(now: EpochMs): number {
    const startsAtMs = this.#startOf(now);
    const countedWms = this.#startsAtMs === startsAtMs ? this.#usedWms : 0;
    return countedWms + this.#mostW * Math.max(0, now - Math.max(this.#countedMs, startsAtMs));
  }

  /** It was `importW` until `untilMs`, which may be in a later window. */
  #count(untilMs: EpochMs, importW: number): void {
    const startsAtMs = this.#startOf(untilMs);
    if (startsAtMs !== this.#startsAtMs) {
      this.#startsAtMs = startsAtMs;
      this.#usedWms = 0;
    }
    this.#usedWms += importW * (untilMs - Math.max(this.#countedMs, startsAtMs));
    this.#countedMs = untilMs;
  }
}

function rounded(powerW: number): number {
  return Math.max(0, Math.floor(powerW / STEP_W + 1e-9) * STEP_W);
}
