// Average import of a site over the windows that its tariff bills: the energy used, and the power left for chargers.
import type { EpochMs } from '../values/time.js';
import { type LimitSource, outlookLimits } from './limit-in-force.js';

/** As provisioned for a location. */
export interface PeakShavingRule {
  /** Highest average import over a window. */
  readonly limitKw: number;
  /** Windows begin at whole multiples of this since the epoch, as the tariff's windows do. */
  readonly windowMs: number;
}

/** Import of a window so far, kept over a restart. */
export interface BilledSoFar {
  readonly startsAtMs: EpochMs;
  /** W s. */
  readonly usedWs: number;
  /** Import after this instant is not counted yet. */
  readonly countedUntilMs: EpochMs;
}

/** Import of the site, W. */
export interface SiteImport {
  /** By the newest reports; a source without reports counts with its maximum. */
  readonly measuredW: number;
  /** Everything in reach has reported since then. */
  readonly reportedSinceMs: EpochMs;
  /** Upper bound of the import, for any change since the reports. */
  readonly mostW: number;
}

/** Step to which the chargers' power is rounded down, and the shortest time between two raises of the site's power. */
const STEP_W = 100;
const RAISED_EVERY_MS = 30_000;
/** Reports that are further apart leave the time between them unknown. */
const LONGEST_GAP_MS = 60_000;

export class BilledWindow {
  readonly rule: PeakShavingRule;
  readonly #mostEverW: number;
  /** Start of the counted window. The window may have ended while some reports of it are missing. */
  #startsAtMs: EpochMs;
  #usedWms = 0;
  #countedMs: EpochMs;
  /** Highest reported import since `#countedMs`; undefined before the first report. */
  #reportedW: number | undefined;
  /** Upper bound of the import since `#countedMs`. */
  #mostW: number;
  /** Power that the site may import from now on. */
  #siteW = 0;
  #leavesW = 0;
  #raisedAtMs: EpochMs = Number.NEGATIVE_INFINITY;
  #now: EpochMs;

  /**
   * @param mostEverW highest possible import of the site, W: uncounted time counts as this.
   * @param before count from before a restart. Undefined if there never was one: the window so far then counts as
   * within its average.
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
    // A count of windows of another length, or by a clock that was ahead, does not apply to this window.
    if (before === undefined || before.countedUntilMs > now || !(isSame || isOver))
      this.#usedWms = this.#presumedWms(now);
    else {
      this.#countedMs = Math.max(this.#startsAtMs, before.countedUntilMs);
      this.#usedWms = isSame ? before.usedWs * 1000 : 0;
    }
  }

  /** Start of the window at the newest instant. */
  get startsAtMs(): EpochMs {
    return this.#startOf(this.#now);
  }

  get endsAtMs(): EpochMs {
    return this.startsAtMs + this.rule.windowMs;
  }

  /** Energy used in that window, W s: time without reports counts with the upper bound of the import. */
  get usedWs(): number {
    return this.#usedWmsAt(this.#now) / 1000;
  }

  /** Power that the average leaves for the chargers until the window ends, W. */
  get leavesW(): number {
    return this.#leavesW;
  }

  /** State to keep over a restart. */
  get soFar(): BilledSoFar {
    return {
      startsAtMs: this.#startsAtMs,
      usedWs: this.#usedWms / 1000,
      countedUntilMs: this.#countedMs,
    };
  }

  /**
   * Counts the import up to the instant since which everything has reported. Between two reports the higher one counts.
   */
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
   * Power that the rest of the window leaves for the chargers, W: the remaining energy, spread evenly, less `besideW`.
   * The site's power falls at once, and rises in steps.
   * @param besideW counted load of the building, and the reserve beside it
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

  /** Power that a window leaves for the chargers at its start, W. */
  leavesAtFirstW(besideW: number): number {
    return rounded(1000 * this.rule.limitKw - besideW);
  }

  /** The clock was set, so the import of each window is unknown. This window so far counts as within its average. */
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

  /** The import was `importW` until `untilMs`, which may be in a later window. */
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

/**
 * Power that the billed average leaves for the chargers, now and in the next windows.
 * @param besideW counted load of the building, and the reserve beside it
 * @param mostBesideW highest load of the building
 */
export function peakShaving(
  window: BilledWindow,
  besideW: number,
  mostBesideW: number,
  now: EpochMs,
): LimitSource {
  const thenKw = window.leavesAtFirstW(besideW) / 1000;
  const limitKw = window.follow(besideW, now) / 1000;
  const cause = { kind: 'peakShaving' } as const;
  const leastKw = Math.min(limitKw, window.leavesAtFirstW(mostBesideW) / 1000);
  return {
    name: 'peakShaving',
    ...outlookLimits({ limitKw, endsAtMs: window.endsAtMs, thenKw }, cause),
    lowestFrom: () => ({ limitKw: leastKw, cause }),
    explain: () => 'the rest of the average import that the tariff bills',
  };
}

function rounded(powerW: number): number {
  return Math.max(0, Math.floor(powerW / STEP_W + 1e-9) * STEP_W);
}
