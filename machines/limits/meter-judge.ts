// Whether a meter at the connection can be believed: what it says is held against what the chargers behind it report.
import type { EpochMs } from '../values/time.js';

/** What speaks against it. `jumped`: it rose or fell by more than building and chargers together can. */
export type MeterDoubt = 'signSwapped' | 'stuck' | 'jumped';

export interface JudgedReading {
  readonly powerW: number;
  /** What the chargers that it counts were measured to draw when it came, W. */
  readonly chargersW: number;
  /** The most by which building and chargers together can change at once, W. */
  readonly mostChangeW: number;
}

/** Chargers have reported a change of theirs by then. */
const QUIET_AFTER_MS = 12_000;
/** Chargers that change by less are taken to be at rest. */
const QUIET_W = 300;
/** A step of the chargers that is compared with the meter's. */
const STEP_W = 2_000;
/** A reading that stays the same to the watt for so long, and so often, while chargers change, is stuck. */
const STUCK_AFTER_MS = 30_000;
const STUCK_READINGS = 3;
const STUCK_STEP_W = 1_000;
/** So many steps of chargers in a row that the meter shows upside down, each to within this part of it. */
const SWAPPED_STEPS = 3;
const SWAPPED_WITHIN = 0.3;
/** With a sign swapped the reading is below what the chargers draw, negated; by more than this above it is not. */
const TOLERANCE_W = 500;
/** A doubt ends once nothing has spoken for it for this long. */
const TRUSTED_AFTER_MS = 60_000;

interface Point {
  readonly powerW: number;
  readonly chargersW: number;
  readonly atMs: EpochMs;
}

export class MeterJudge {
  #doubt: MeterDoubt | undefined;
  /** When something spoke for the doubt last. */
  #doubtedAtMs: EpochMs = Number.NEGATIVE_INFINITY;
  #last: Point | undefined;
  #movedAtMs: EpochMs = Number.NEGATIVE_INFINITY;
  /** Readings while the chargers were at rest, of the last seconds. */
  #resting: Point[] = [];
  /** The last of them that was surely before the chargers' change in hand. */
  #beforeStep: Point | undefined;
  #swappedSteps = 0;
  /** Since when the reading is above what a swapped sign would show. */
  #aboveSinceMs: EpochMs | undefined;
  #run = new Run();

  get doubt(): MeterDoubt | undefined {
    return this.#doubt;
  }

  judge(reading: JudgedReading, now: EpochMs): void {
    const { powerW, chargersW, mostChangeW } = reading;
    const last = this.#last;
    this.#last = { powerW, chargersW, atMs: now };
    this.#run.follow(reading, now);
    if (last !== undefined && Math.abs(powerW - last.powerW) > mostChangeW) this.#suspect('jumped', now);
    else if (this.#run.isStuck(now)) this.#suspect('stuck', now);
    else if (this.#isSwapped(this.#last, last)) this.#suspect('signSwapped', now);
    else if (now - this.#doubtedAtMs >= TRUSTED_AFTER_MS) this.#doubt = undefined;
  }

  /** What comes next is not compared with what came before: it is silent, and may be another meter when it comes again. */
  pause(): void {
    this.#last = undefined;
    this.#forgetSteps();
    this.#run = new Run();
  }

  #suspect(doubt: MeterDoubt, now: EpochMs): void {
    this.#doubt = doubt;
    this.#doubtedAtMs = now;
  }

  /**
   * Whether steps of the chargers show upside down. Only looked at while the reading is below what they draw, negated: with
   * a swapped sign it always is. Then the building counts as nothing, so no charger's step is an answer to one of its own.
   */
  #isSwapped(point: Point, last: Point | undefined): boolean {
    const { atMs } = point;
    const isAbove = point.powerW + point.chargersW > TOLERANCE_W;
    if (!isAbove) this.#aboveSinceMs = undefined;
    else this.#aboveSinceMs ??= atMs;
    // For a moment it may seem so, until the chargers have reported.
    if (this.#aboveSinceMs !== undefined && atMs - this.#aboveSinceMs >= QUIET_AFTER_MS) this.#forgetSteps();
    if (isAbove) return this.#swappedSteps >= SWAPPED_STEPS;
    if (last === undefined || Math.abs(point.chargersW - last.chargersW) > QUIET_W) {
      this.#beforeStep ??= this.#resting.findLast((each) => atMs - each.atMs >= QUIET_AFTER_MS);
      this.#resting = [];
      this.#movedAtMs = atMs;
    } else if (atMs - this.#movedAtMs >= QUIET_AFTER_MS) {
      if (this.#beforeStep !== undefined) this.#compare(this.#beforeStep, point);
      this.#beforeStep = undefined;
      // One that is old enough is kept, however seldom readings come.
      const recent = this.#resting.findLastIndex((each) => atMs - each.atMs >= QUIET_AFTER_MS);
      this.#resting.splice(0, Math.max(0, recent));
      this.#resting.push(point);
    }
    return this.#swappedSteps >= SWAPPED_STEPS;
  }

  #compare(before: Point, after: Point): void {
    const steppedW = after.chargersW - before.chargersW;
    if (Math.abs(steppedW) < STEP_W) return;
    const seen = (after.powerW - before.powerW) / steppedW;
    this.#swappedSteps = Math.abs(seen + 1) <= SWAPPED_WITHIN ? this.#swappedSteps + 1 : 0;
  }

  #forgetSteps(): void {
    this.#swappedSteps = 0;
    this.#beforeStep = undefined;
    this.#resting = [];
  }
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
    if (now - this.#beganAtMs < QUIET_AFTER_MS) return;
    this.#leastChargersW = Math.min(this.#leastChargersW, chargersW);
    this.#mostChargersW = Math.max(this.#mostChargersW, chargersW);
  }

  isStuck(now: EpochMs): boolean {
    if (this.#readings < STUCK_READINGS || now - this.#beganAtMs < STUCK_AFTER_MS) return false;
    return this.#mostChargersW - this.#leastChargersW >= STUCK_STEP_W;
  }
}
