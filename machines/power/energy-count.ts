// The energy that a connector delivers, by quarter-hours: from the charger's register, else from its power.

import type { EpochMs } from '../values/time.js';
import type { Writable } from '../values/writable.js';
import type { Instant } from './budget.js';

const MS_PER_H = 3_600_000;
const DAY_MS = 86_400_000;
/** Every time zone is a multiple of it away from UTC, so each begins a quarter-hour together. */
export const QUARTER_MS = 900_000;

/** A register may count in whole kWh, and may change once in a quarter-hour: such a rise is plausible at any time. */
const COARSE = { wh: 1_000, ms: QUARTER_MS };
/** A car may draw more between two readings than at either, and the power is less accurate than the register. */
const MARGIN = 1.5;
/** A charger that repeats old readings does so within seconds. A register that was reset stays lower. */
const RESET_AFTER_MS = 300_000;
/** Power and register differ by so much. */
const DOUBTFUL_WH = 250;
/** The energy of a longer silence counts as drawn in its last days. */
const SPREAD_AT_MOST_MS = 7 * DAY_MS;
/** Without a database for longer, more energy counts in the oldest one. */
const QUARTERS_KEPT = SPREAD_AT_MOST_MS / QUARTER_MS + 1;
/** Longer than any register runs without a reading. */
const UNKNOWN_MS = 366 * DAY_MS;
/** Without a register, a crash loses at most so much energy, and that of a minute. */
const KEPT_EVERY_WH = 1_000;

/** Energy of the quarter-hour from `startsAtMs` on. */
export interface QuarterEnergy {
  readonly startsAtMs: EpochMs;
  readonly wh: number;
  /** The part of it that is integrated from power. */
  readonly integratedWh: number;
}

/** The count on disk, from which a restart continues it. */
export interface StoredEnergy {
  /** The last plausible value of the register, Wh; undefined without one. */
  readonly registerWh: number | undefined;
  /** Time of the last reading with it; undefined in rows from before it was stored. */
  readonly registerAtMs: EpochMs | undefined;
  /** Energy counted from power since then, which the register still has to show. */
  readonly aheadWh: number;
  /** Quarter-hours that may be on no disk, the oldest first. The last one may get more. */
  readonly quarters: readonly CountedQuarter[];
}

interface CountedQuarter extends QuarterEnergy {
  /** It is on disk, and has got nothing since; undefined in rows from before it was stored. */
  readonly isTaken?: boolean;
}

interface EnergyReading {
  readonly energyWh?: number | undefined;
  readonly powerW: number;
}

/** Another value of the register: late, wrong, or the begin of a register that was reset or replaced. */
interface OtherRegister {
  readonly wh: number;
  readonly sinceMs: number;
  readonly aheadWh: number;
  plausibleWh: number;
}

/** Each increase counts once: an energy that power showed first is taken off the register's next increases. */
export class EnergyCount {
  #registerWh: number | undefined;
  #registerAtMs: EpochMs | undefined;
  #aheadWh: number;
  /** The most that the register can have risen since it changed, Wh. */
  #plausibleWh = 0;
  #other: OtherRegister | undefined;
  /** Monotonic times; undefined before the first reading. */
  #readAtMs: number | undefined;
  #registerReadAtMs: number | undefined;
  #readW = 0;
  #quarters: Writable<CountedQuarter>[];
  /** Begin of the oldest quarter-hour that may get more. */
  #openMs: EpochMs;
  #unkeptWh = 0;
  /** The last counted energy is integrated from power. */
  isIntegrated = false;
  /** The power before the last reading, and the time for which it counted. */
  freshW = 0;
  freshMs = 0;

  constructor(before?: StoredEnergy) {
    this.#registerWh = before?.registerWh;
    this.#registerAtMs = before?.registerAtMs;
    this.#aheadWh = before?.aheadWh ?? 0;
    this.#quarters = (before?.quarters ?? []).map((quarter) => ({ ...quarter }));
    const last = this.#quarters.at(-1);
    // A quarter-hour on disk gets no more after a restart: its location or time zone may be another one.
    const closedMs = last?.isTaken === true ? QUARTER_MS : 0;
    this.#openMs = last === undefined ? Number.NEGATIVE_INFINITY : last.startsAtMs + closedMs;
  }

  get stored(): StoredEnergy {
    return {
      registerWh: this.#registerWh,
      registerAtMs: this.#registerAtMs,
      aheadWh: this.#aheadWh,
      quarters: this.#quarters.map((quarter) => ({ ...quarter })),
    };
  }

  /**
   * Counts a reading.
   * @param mostW the connector's highest power
   * @param staleAfterMs a power counts for at most so long
   * @returns the energy since the reading before, Wh
   */
  count({ energyWh, powerW }: EnergyReading, mostW: number, staleAfterMs: number, at: Instant): number {
    const { now, nowMs } = at;
    const gapMs = this.#gapMs(at);
    const freshMs = this.#readAtMs === undefined ? 0 : Math.min(gapMs, staleAfterMs);
    const powerWh = (this.#readW * freshMs) / MS_PER_H;
    this.#allow((Math.max(this.#readW, powerW) * freshMs + mostW * (gapMs - freshMs)) * (MARGIN / MS_PER_H));
    const coarseWh = COARSE.wh + (mostW * COARSE.ms) / MS_PER_H;
    const increaseWh = energyWh === undefined ? undefined : this.#follow(energyWh, powerWh, coarseWh, nowMs);
    this.isIntegrated = increaseWh === undefined;
    let countedWh = powerWh;
    if (increaseWh === undefined) {
      if (this.#registerWh !== undefined) this.#aheadWh += powerWh;
      this.#unkeptWh += powerWh;
      this.#book(powerWh, now - gapMs, now - gapMs + freshMs);
    } else {
      countedWh = Math.max(0, increaseWh - this.#aheadWh);
      this.#aheadWh = Math.max(0, this.#aheadWh - increaseWh);
      this.#book(countedWh, this.#registerFromMs(at), now);
    }
    if (energyWh !== undefined && (increaseWh !== undefined || this.#registerWh === undefined)) {
      this.#registerWh = energyWh;
      this.#registerAtMs = now;
      this.#registerReadAtMs = nowMs;
    }
    this.freshW = this.#readW;
    this.freshMs = freshMs;
    this.#readAtMs = nowMs;
    this.#readW = powerW;
    return countedWh;
  }

  /** The row on disk should be replaced: a crash would lose energy. */
  isDue(now: EpochMs): boolean {
    return this.#unkeptWh >= KEPT_EVERY_WH || this.#isQuarterDue(now);
  }

  /**
   * Quarter-hours that have ended and are on no disk, in whole Wh; the rest of each counts in the next. The caller
   * stores them with `stored` in one commit. A later one of the same begin replaces it.
   */
  take(now: EpochMs): readonly QuarterEnergy[] {
    this.#unkeptWh = 0;
    if (!this.#isQuarterDue(now)) return [];
    const last = this.#quarters.length - 1;
    const due: QuarterEnergy[] = [];
    for (const [place, quarter] of this.#quarters.entries()) {
      const { startsAtMs, wh, integratedWh, isTaken } = quarter;
      const next = this.#quarters[place + 1];
      if (next === undefined && startsAtMs + QUARTER_MS > now) break;
      const wholeWh = Math.max(0, Math.round(wh));
      if (next !== undefined) next.wh += wh - wholeWh;
      if (isTaken !== true && wholeWh > 0)
        due.push({ startsAtMs, wh: wholeWh, integratedWh: Math.min(wholeWh, Math.round(integratedWh)) });
      quarter.isTaken = true;
    }
    this.#quarters.splice(0, last);
    return due;
  }

  #isQuarterDue(now: EpochMs): boolean {
    const first = this.#quarters.find(({ isTaken }) => isTaken !== true);
    return first !== undefined && (first !== this.#quarters.at(-1) || first.startsAtMs + QUARTER_MS <= now);
  }

  /** Time since the last reading, or since the last one before a restart. */
  #gapMs({ now, nowMs }: Instant): number {
    if (this.#readAtMs !== undefined) return Math.max(0, nowMs - this.#readAtMs);
    return this.#registerAtMs === undefined ? UNKNOWN_MS : Math.max(0, now - this.#registerAtMs);
  }

  #allow(moreWh: number): void {
    this.#plausibleWh += moreWh;
    if (this.#other !== undefined) this.#other.plausibleWh += moreWh;
  }

  /**
   * The increase of the register; undefined if the power counts instead, because the value is no plausible increase.
   */
  #follow(energyWh: number, powerWh: number, coarseWh: number, nowMs: number): number | undefined {
    const registerWh = this.#registerWh;
    if (registerWh === undefined) {
      this.#plausibleWh = 0;
      return undefined;
    }
    const other = this.#other;
    const increaseWh = energyWh - registerWh;
    const otherWh = other === undefined ? Number.NaN : energyWh - other.wh;
    const goesOn = isPlausible(increaseWh, this.#plausibleWh + coarseWh);
    const isOther = other !== undefined && isPlausible(otherWh, other.plausibleWh + coarseWh);
    const aheadWh = this.#aheadWh + powerWh;
    // A register that was reset reaches its old value again.
    const isNearer =
      isOther && Math.abs(otherWh - (aheadWh - other.aheadWh)) + DOUBTFUL_WH < Math.abs(increaseWh - aheadWh);
    if (goesOn && !isNearer) {
      this.#other = undefined;
      if (increaseWh > 0) this.#plausibleWh = 0;
      return increaseWh;
    }
    if (!isOther) {
      this.#other = { wh: energyWh, sinceMs: nowMs, aheadWh, plausibleWh: 0 };
      return undefined;
    }
    if (otherWh === 0 || (!goesOn && nowMs - other.sinceMs < RESET_AFTER_MS)) return undefined;
    // The register goes on from the other value. The power before it stays counted.
    this.#aheadWh = Math.max(0, this.#aheadWh - other.aheadWh);
    this.#other = undefined;
    this.#plausibleWh = 0;
    return otherWh;
  }

  #registerFromMs({ now, nowMs }: Instant): EpochMs {
    if (this.#registerReadAtMs !== undefined) return now - Math.max(0, nowMs - this.#registerReadAtMs);
    return this.#registerAtMs ?? now;
  }

  /** Spreads the energy evenly over its time, but for quarter-hours that have ended before the last reading. */
  #book(wh: number, fromMs: EpochMs, toMs: EpochMs): void {
    if (wh === 0) return;
    // Nearly all readings are in one quarter-hour: spread below, the whole count would take an eighth longer.
    if (fromMs >= this.#openMs && toMs < this.#openMs + QUARTER_MS) {
      this.#add(this.#openMs, wh);
      return;
    }
    const leastMs = Math.max(toMs - SPREAD_AT_MOST_MS, this.#openMs);
    const startsAtMs = Math.max(fromMs, leastMs);
    if (toMs <= startsAtMs) {
      this.#add(quarterOf(Math.max(toMs, leastMs)), wh);
      return;
    }
    for (let atMs = startsAtMs; atMs < toMs; ) {
      const quarterMs = quarterOf(atMs);
      const untilMs = Math.min(quarterMs + QUARTER_MS, toMs);
      this.#add(quarterMs, (wh * (untilMs - atMs)) / (toMs - startsAtMs));
      atMs = untilMs;
    }
  }

  /** @param startsAtMs not before the last quarter-hour */
  #add(startsAtMs: EpochMs, wh: number): void {
    let last = this.#quarters.at(-1);
    if (last === undefined || last.startsAtMs !== startsAtMs) {
      last = { startsAtMs, wh: 0, integratedWh: 0 };
      this.#openMs = startsAtMs;
      this.#quarters.push(last);
      if (this.#quarters.length > QUARTERS_KEPT) this.#joinOldest();
    }
    last.wh += wh;
    if (this.isIntegrated) last.integratedWh += wh;
    last.isTaken = false;
  }

  /** The oldest may be on disk, and is replaced there. */
  #joinOldest(): void {
    const [oldest, next] = this.#quarters;
    if (oldest === undefined || next === undefined) return;
    oldest.wh += next.wh;
    oldest.integratedWh += next.integratedWh;
    oldest.isTaken = false;
    this.#quarters.splice(1, 1);
  }
}

function isPlausible(increaseWh: number, mostWh: number): boolean {
  return increaseWh >= 0 && increaseWh <= mostWh;
}

function quarterOf(atMs: EpochMs): EpochMs {
  return Math.floor(atMs / QUARTER_MS) * QUARTER_MS;
}
