// Decides if a site meter can be relied upon: compares its readings with the power that its chargers report.
import type { EpochMs } from '../values/time.js';

/**
 * Reason to distrust the meter.
 * - `tooLow`: it shows less than its chargers draw.
 * - `signSwapped`: the same, and it shows an export; or it falls by the steps of the chargers' rises.
 * - `jumped`: it changed by more than building and chargers can.
 */
export type MeterDoubt = 'signSwapped' | 'tooLow' | 'stuck' | 'jumped';

export interface JudgedReading {
  readonly powerW: number;
  /** Reported power of all chargers that the meter counts, W. */
  readonly chargersW: number;
  /** The part of `chargersW` that the meter must show: chargers that break their limits do not count. */
  readonly witnessedW: number;
  /** Age of the oldest report in `chargersW`. */
  readonly reportAgeMs: number;
  /** Time from the reading to its arrival. */
  readonly delayMs: number;
  /** Largest change of building and chargers together at one instant, W. */
  readonly mostChangeW: number;
}

/** Chargers report a change within this time. */
const REPORTED_AFTER_MS = 12_000;
/** Smallest step of the chargers that is compared with the meter. */
const STEP_W = 2_000;
/** Two readings that are further apart are not compared: the building has changed as well. */
const STEP_WITHIN_MS = 180_000;
/** A meter is stuck if its reading stays the same to the watt for this time and number, while chargers change. */
const STUCK_AFTER_MS = 30_000;
const STUCK_READINGS = 3;
const STUCK_STEP_W = 1_000;
/** Number of charger steps in a row that the meter shows upside down, each to within this share. */
const SWAPPED_STEPS = 3;
const SWAPPED_WITHIN = 0.3;
/** Meter and chargers measure with errors: a reading this much too low is still right. */
const TOLERANCE_W = 500;
const TOLERANCE_SHARE = 0.1;
/** Smallest power that a shortfall is compared with, for a site at which no car charges. */
const LEAST_COMPARED_W = 2_000;
const SHORTFALL_READINGS = 3;
/** A reading stands for no longer than this. */
const LONGEST_GAP_MS = 60_000;
/** A doubt ends after this time without further evidence. */
const TRUSTED_AFTER_MS = 60_000;
/** If a trusted meter shows too little again within this time, the next doubt lasts twice as long, up to this time. */
const RELAPSE_MS = 3_600_000;

export class MeterJudge {
  /** The site may feed back, so a building load below zero is possible. */
  readonly #mayFeedBack: boolean;
  #doubt: MeterDoubt | undefined;
  #doubtedAtMs: EpochMs = Number.NEGATIVE_INFINITY;
  #trustedAtMs: EpochMs = Number.NEGATIVE_INFINITY;
  #trustedAfterMs = TRUSTED_AFTER_MS;
  #lastW: number | undefined;
  #steps = new Steps();
  #shortfall = new Shortfall();
  #run = new Run();

  constructor(mayFeedBack: boolean) {
    this.#mayFeedBack = mayFeedBack;
  }

  get doubt(): MeterDoubt | undefined {
    return this.#doubt;
  }

  /** Instant of the last reading that supports a doubt; -Infinity without one. */
  get doubtedAtMs(): EpochMs {
    return this.#doubtedAtMs;
  }

  judge(reading: JudgedReading, now: EpochMs): void {
    const { powerW, mostChangeW } = reading;
    const lastW = this.#lastW;
    this.#lastW = powerW;
    this.#run.follow(reading, now);
    const doubt = this.#contradiction(reading, now);
    if (lastW !== undefined && Math.abs(powerW - lastW) > mostChangeW) this.#suspect('jumped', now);
    else if (this.#run.isStuck(now)) this.#suspect('stuck', now);
    else if (doubt !== undefined) this.#disbelieve(doubt, now);
    else if (this.#doubt !== undefined && now - this.#doubtedAtMs >= this.#trustedAfterMs)
      this.#verification(now);
  }

  /**
   * The meter was silent, or the clock was set. It may be another meter, so later readings are compared among
   * themselves.
   */
  pause(): void {
    this.#lastW = undefined;
    this.#steps = new Steps();
    this.#shortfall = new Shortfall();
    this.#run = new Run();
  }

  #contradiction(reading: JudgedReading, now: EpochMs): MeterDoubt | undefined {
    if (this.#mayFeedBack) return this.#steps.areSwapped(reading, now) ? 'signSwapped' : undefined;
    if (!this.#shortfall.isProven(reading, now)) return undefined;
    return reading.powerW + reading.chargersW <= TOLERANCE_W ? 'signSwapped' : 'tooLow';
  }

  #suspect(doubt: MeterDoubt, now: EpochMs): void {
    this.#doubt = doubt;
    this.#doubtedAtMs = now;
  }

  /** The first reason stays: late reports would exchange the two for a moment. */
  #disbelieve(doubt: MeterDoubt, now: EpochMs): void {
    const isKnown = this.#doubt === 'signSwapped' || this.#doubt === 'tooLow';
    if (!isKnown) {
      // Chargers that stop for the doubt leave nothing to compare, so a wrong meter is trusted again and again.
      const isRelapse = now - this.#trustedAtMs < RELAPSE_MS;
      this.#trustedAfterMs = isRelapse ? Math.min(2 * this.#trustedAfterMs, RELAPSE_MS) : TRUSTED_AFTER_MS;
    }
    this.#suspect(isKnown && this.#doubt !== undefined ? this.#doubt : doubt, now);
  }

  #verification(now: EpochMs): void {
    const wasTooLow = this.#doubt === 'signSwapped' || this.#doubt === 'tooLow';
    this.#doubt = undefined;
    this.#steps = new Steps();
    this.#shortfall = new Shortfall();
    if (wasTooLow) this.#trustedAtMs = now;
    else this.#trustedAfterMs = TRUSTED_AFTER_MS;
  }
}

/**
 * Energy that chargers reported and the meter did not show. A late report or reading explains at most the chargers'
 * draw during its delay, for any number of changes. The draw of the building reduces the shortfall.
 */
class Shortfall {
  #lastAtMs: EpochMs | undefined;
  /** W ms; 0 if the meter shows enough. */
  #missing = 0;
  /** Number of readings since 0 that showed too little. */
  #readings = 0;
  #mostW = 0;
  #lateMs = 0;

  isProven({ powerW, witnessedW, reportAgeMs, delayMs }: JudgedReading, now: EpochMs): boolean {
    const gapMs = Math.min(now - (this.#lastAtMs ?? now), LONGEST_GAP_MS);
    this.#lastAtMs = now;
    const leastW = witnessedW * (1 - TOLERANCE_SHARE) - TOLERANCE_W;
    const missingW = leastW - powerW;
    this.#missing = Math.max(0, this.#missing + missingW * gapMs);
    if (this.#missing === 0) {
      this.#readings = 0;
      this.#mostW = 0;
      this.#lateMs = 0;
      return false;
    }
    // A single wrong reading proves nothing, however wrong it is.
    if (missingW > 0) this.#readings++;
    this.#mostW = Math.max(this.#mostW, witnessedW, LEAST_COMPARED_W);
    this.#lateMs = Math.max(this.#lateMs, REPORTED_AFTER_MS + reportAgeMs + Math.max(0, delayMs) + gapMs);
    const explained = this.#mostW * this.#lateMs;
    const isProven = this.#readings >= SHORTFALL_READINGS && this.#missing > explained;
    // A meter that is right again need not make up for a whole day.
    if (isProven) this.#missing = explained;
    return isProven;
  }
}

/** A reading, and the range of the chargers' power at that time. */
interface Point {
  readonly powerW: number;
  readonly atMs: EpochMs;
  leastW: number;
  mostW: number;
}

/**
 * Steps of the chargers that the meter shows upside down. A report comes up to 12 s after the change. So the power at a
 * reading is only known within a range. Two readings with disjoint ranges show a step, and no charger has to rest for
 * that.
 */
class Steps {
  /** Newest last; the oldest is the end of the last step. */
  #points: Point[] = [];
  #swapped = 0;
  /** Since then the reading has been above that of a swapped sign. */
  #aboveSinceMs: EpochMs | undefined;
  #known = 0;

  /**
   * Steps count only while the reading is below the negated power of the chargers, as it always is with a swapped sign.
   * The building then counts as zero, so no step of the chargers answers a step of the building.
   */
  areSwapped({ powerW, chargersW, delayMs }: JudgedReading, now: EpochMs): boolean {
    const isAbove = powerW + chargersW > TOLERANCE_W;
    if (!isAbove) this.#aboveSinceMs = undefined;
    else this.#aboveSinceMs ??= now;
    // A reading may be above for a moment, until the chargers have reported.
    if (this.#aboveSinceMs !== undefined && now - this.#aboveSinceMs >= REPORTED_AFTER_MS) {
      this.#points = [];
      this.#known = 0;
      this.#swapped = 0;
      return false;
    }
    this.#add({ powerW, atMs: now, leastW: chargersW, mostW: chargersW }, delayMs, now);
    this.#compare(now);
    return this.#swapped >= SWAPPED_STEPS;
  }

  #add(point: Point, delayMs: number, now: EpochMs): void {
    for (const before of this.#points.slice(this.#known)) {
      before.leastW = Math.min(before.leastW, point.leastW);
      before.mostW = Math.max(before.mostW, point.leastW);
    }
    // A delayed reading belongs to an earlier time.
    for (const { atMs, leastW, mostW } of this.#points) {
      if (atMs < now - delayMs) continue;
      point.leastW = Math.min(point.leastW, leastW);
      point.mostW = Math.max(point.mostW, mostW);
    }
    this.#points.push(point);
    const firstKept = this.#points.findIndex(({ atMs }) => now - atMs <= STEP_WITHIN_MS);
    this.#points.splice(0, firstKept);
    this.#known = Math.max(0, this.#known - firstKept);
  }

  /**
   * Takes readings to which the chargers' reports have arrived. Each is compared with the newest earlier reading that
   * shows a step.
   */
  #compare(now: EpochMs): void {
    for (let after = this.#points[this.#known]; after !== undefined; after = this.#points[this.#known]) {
      if (now - after.atMs < REPORTED_AFTER_MS) return;
      const end = after;
      const begin = this.#points
        .slice(0, this.#known)
        .findLast(({ leastW, mostW }) => end.leastW - mostW >= STEP_W || leastW - end.mostW >= STEP_W);
      this.#known++;
      if (begin === undefined) continue;
      this.#swapped = isUpsideDown(begin, end) ? this.#swapped + 1 : 0;
      this.#points.splice(0, this.#known - 1);
      this.#known = 1;
    }
  }
}

function isUpsideDown(before: Point, after: Point): boolean {
  const sign = after.leastW > before.mostW ? 1 : -1;
  const [leastW, mostW] =
    sign > 0
      ? [after.leastW - before.mostW, after.mostW - before.leastW]
      : [before.leastW - after.mostW, before.mostW - after.leastW];
  const shownW = sign * (before.powerW - after.powerW);
  return shownW >= leastW * (1 - SWAPPED_WITHIN) && shownW <= mostW * (1 + SWAPPED_WITHIN);
}

/** Consecutive readings that are equal to the watt. */
class Run {
  #powerW: number | undefined;
  #beganAtMs: EpochMs = 0;
  #readings = 0;
  #leastChargersW = Number.POSITIVE_INFINITY;
  #mostChargersW = Number.NEGATIVE_INFINITY;

  follow({ powerW, chargersW }: JudgedReading, now: EpochMs): void {
    if (powerW !== this.#powerW) {
      this.#powerW = powerW;
      this.#beganAtMs = now;
      this.#readings = 0;
      this.#leastChargersW = Number.POSITIVE_INFINITY;
      this.#mostChargersW = Number.NEGATIVE_INFINITY;
    }
    this.#readings++;
    // The first reports of the chargers may describe an earlier time.
    if (now - this.#beganAtMs < REPORTED_AFTER_MS) return;
    this.#leastChargersW = Math.min(this.#leastChargersW, chargersW);
    this.#mostChargersW = Math.max(this.#mostChargersW, chargersW);
  }

  isStuck(now: EpochMs): boolean {
    if (this.#readings < STUCK_READINGS || now - this.#beganAtMs < STUCK_AFTER_MS) return false;
    return this.#mostChargersW - this.#leastChargersW >= STUCK_STEP_W;
  }
}
