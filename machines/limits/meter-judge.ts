// Decides if a site meter can be believed: its readings are compared with the power that the chargers behind it report.
import type { EpochMs } from '../values/time.js';

/**
 * The reason to disbelieve the meter. `tooLow`: it shows less than its chargers draw. `signSwapped`: the same, and it shows an
 * export, or it falls by the steps by which the chargers rise. `jumped`: it changed by more than building and chargers can.
 */
export type MeterDoubt = 'signSwapped' | 'tooLow' | 'stuck' | 'jumped';

export interface JudgedReading {
  readonly powerW: number;
  /** Reported power of all chargers that the meter counts, W. */
  readonly chargersW: number;
  /** The part of `chargersW` that the meter must show: chargers that break their limits are no witnesses. */
  readonly witnessedW: number;
  /** Age of the oldest report in `chargersW`. */
  readonly reportAgeMs: number;
  /** Time from the reading to its arrival. */
  readonly delayMs: number;
  /** The most by which building and chargers together can change at once, W. */
  readonly mostChangeW: number;
}

/** Chargers have reported a change of theirs by then. */
const REPORTED_AFTER_MS = 12_000;
/** The smallest step of the chargers that is compared with the meter's. */
const STEP_W = 2_000;
/** Two readings that are further apart are not compared: the building has changed as well. */
const STEP_WITHIN_MS = 180_000;
/** A reading that stays the same to the watt for so long, and so often, while chargers change, is stuck. */
const STUCK_AFTER_MS = 30_000;
const STUCK_READINGS = 3;
const STUCK_STEP_W = 1_000;
/** So many steps of chargers in a row that the meter shows upside down, each to within this part of it. */
const SWAPPED_STEPS = 3;
const SWAPPED_WITHIN = 0.3;
/** Meter and chargers measure with errors: a reading this much below is still right. */
const TOLERANCE_W = 500;
const TOLERANCE_SHARE = 0.1;
/** The smallest power that a shortfall is compared with: a site where nobody charges. */
const LEAST_COMPARED_W = 2_000;
const SHORTFALL_READINGS = 3;
/** A reading stands for no longer than this. */
const LONGEST_GAP_MS = 60_000;
/** A doubt ends once nothing has spoken for it for this long. */
const TRUSTED_AFTER_MS = 60_000;
/** A meter that shows too little again within this time after it was trusted waits twice as long each time, up to this. */
const RELAPSE_MS = 3_600_000;

export class MeterJudge {
  /** The site may feed back: a building below zero is possible. */
  readonly #mayFeedBack: boolean;
  #doubt: MeterDoubt | undefined;
  /** The last reading that spoke for the doubt. */
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

  judge(reading: JudgedReading, now: EpochMs): void {
    const { powerW, mostChangeW } = reading;
    const lastW = this.#lastW;
    this.#lastW = powerW;
    this.#run.follow(reading, now);
    const doubt = this.#contradiction(reading, now);
    if (lastW !== undefined && Math.abs(powerW - lastW) > mostChangeW) this.#suspect('jumped', now);
    else if (this.#run.isStuck(now)) this.#suspect('stuck', now);
    else if (doubt !== undefined) this.#disbelieve(doubt, now);
    else if (this.#doubt !== undefined && now - this.#doubtedAtMs >= this.#trustedAfterMs) this.#trust(now);
  }

  /** The meter was silent, or the clock was set: it may be another meter, and later readings are compared among themselves. */
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

  /** The first reason stays: reports that are late would exchange the two for a moment. */
  #disbelieve(doubt: MeterDoubt, now: EpochMs): void {
    const isKnown = this.#doubt === 'signSwapped' || this.#doubt === 'tooLow';
    if (!isKnown) {
      // Chargers that stop for the doubt leave nothing to compare, so a wrong meter is trusted again and again.
      const isRelapse = now - this.#trustedAtMs < RELAPSE_MS;
      this.#trustedAfterMs = isRelapse ? Math.min(2 * this.#trustedAfterMs, RELAPSE_MS) : TRUSTED_AFTER_MS;
    }
    this.#suspect(isKnown && this.#doubt !== undefined ? this.#doubt : doubt, now);
  }

  #trust(now: EpochMs): void {
    const wasTooLow = this.#doubt === 'signSwapped' || this.#doubt === 'tooLow';
    this.#doubt = undefined;
    this.#steps = new Steps();
    this.#shortfall = new Shortfall();
    if (wasTooLow) this.#trustedAtMs = now;
    else this.#trustedAfterMs = TRUSTED_AFTER_MS;
  }
}

/**
 * Energy that chargers reported and the meter did not show. A late report or reading explains as much as the chargers draw in
 * the time by which it is late, and not more, however often the chargers change. What the building draws makes up for it.
 */
class Shortfall {
  #lastAtMs: EpochMs | undefined;
  /** W ms; 0 where the meter shows enough. */
  #missing = 0;
  /** So many readings since it was 0 showed too little. */
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
    // One reading that is wrong proves nothing, however wrong it is.
    if (missingW > 0) this.#readings++;
    this.#mostW = Math.max(this.#mostW, witnessedW, LEAST_COMPARED_W);
    this.#lateMs = Math.max(this.#lateMs, REPORTED_AFTER_MS + reportAgeMs + Math.max(0, delayMs) + gapMs);
    const explained = this.#mostW * this.#lateMs;
    const isProven = this.#readings >= SHORTFALL_READINGS && this.#missing > explained;
    // A meter that is right again has not to make up for a whole day.
    if (isProven) this.#missing = explained;
    return isProven;
  }
}

/** A reading, and the range in which the chargers' power was when it was taken. */
interface Point {
  readonly powerW: number;
  readonly atMs: EpochMs;
  leastW: number;
  mostW: number;
}

/**
 * Steps of the chargers that show upside down. A report comes up to 12 s after the change, so the power at a reading is only
 * known to be within a range; two readings with ranges that are apart show a step, and no charger has to rest for that.
 */
class Steps {
  /** Newest last; the oldest is the one that the last step ended with. */
  #points: Point[] = [];
  #swapped = 0;
  /** Since when the reading is above a swapped sign's. */
  #aboveSinceMs: EpochMs | undefined;
  #known = 0;

  /**
   * Steps count only while the reading is below the chargers' power, negated: with a swapped sign it always is. Then the
   * building counts as nothing, so no step of the chargers is an answer to one of its own.
   */
  areSwapped({ powerW, chargersW, delayMs }: JudgedReading, now: EpochMs): boolean {
    const isAbove = powerW + chargersW > TOLERANCE_W;
    if (!isAbove) this.#aboveSinceMs = undefined;
    else this.#aboveSinceMs ??= now;
    // For a moment it may seem so, until the chargers have reported.
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
    // A reading that was long on its way is of then.
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

  /** Readings of which the chargers' reports have come by now, each with the newest one before it that shows a step. */
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

/** Readings that are the same to the watt, one after the other. */
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
    // What chargers report at first they may have done before.
    if (now - this.#beganAtMs < REPORTED_AFTER_MS) return;
    this.#leastChargersW = Math.min(this.#leastChargersW, chargersW);
    this.#mostChargersW = Math.max(this.#mostChargersW, chargersW);
  }

  isStuck(now: EpochMs): boolean {
    if (this.#readings < STUCK_READINGS || now - this.#beganAtMs < STUCK_AFTER_MS) return false;
    return this.#mostChargersW - this.#leastChargersW >= STUCK_STEP_W;
  }
}
