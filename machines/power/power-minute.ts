// Time-weighted power of a location in the current minute, so that each meter value counts by its duration.
import type { EpochMs } from '../values/time.js';

/** Tenths of an ampere on L1, L2 and L3 of the grid. */
export type GridTenthsA = readonly [number, number, number];

/** Draw of a location. Powers in W. */
export interface DrawnPower {
  readonly actualW: number;
  /** Estimated part of it; undefined if everything is measured. */
  readonly estimatedW: number | undefined;
  /** Omitted without a known fuse. */
  readonly gridTenthsA?: GridTenthsA | undefined;
  /** Omitted without feeders. */
  readonly feeders?: FeederCurrents | undefined;
}

/** Current of each feeder, in the order of `names`. */
export interface FeederCurrents {
  /** A new object after a change of provisioning. */
  readonly names: readonly string[];
  readonly tenthsA: readonly GridTenthsA[];
}

/** A completed minute. Powers in W. */
export interface EndedMinute {
  /** Start of the minute. */
  readonly atMs: EpochMs;
  /** Time-weighted mean of the connectors' counted power. */
  readonly meanW: number;
  readonly maxW: number;
  /** Estimated part of the mean, from silent connectors; null if everything was measured. */
  readonly estimatedW: number | null;
  /** The lowest grid limit in force during the minute. */
  readonly limitW: number;
  /** Time-weighted mean of the grid limit. A compliant `meanW` does not exceed it. */
  readonly meanLimitW: number;
  /** null without a known fuse. */
  readonly currents: EndedCurrents | null;
  /** Currents of each feeder; empty without feeders. */
  readonly feeders: readonly EndedFeeder[];
  /** null without a building meter. */
  readonly building: EndedBuilding | null;
}

/** Counted load of a building beside the chargers, and the reserve for its rise. Powers in W. */
export interface BuildingPower {
  readonly buildingW: number;
  readonly reserveW: number;
}

/** Time-weighted means of load and reserve, and the highest counted load. Powers in W. */
export interface EndedBuilding {
  readonly meanW: number;
  readonly maxW: number;
  readonly meanReserveW: number;
}

/** Currents on each grid phase: time-weighted mean and maximum. */
export interface EndedCurrents {
  readonly meanTenthsA: GridTenthsA;
  readonly maxTenthsA: GridTenthsA;
}

/** Currents of a feeder. */
export interface EndedFeeder extends EndedCurrents {
  readonly name: string;
}

/** Currents of the current minute, over the time in which they are known. */
class CurrentsOfMinute {
  #tenthsAms = [0, 0, 0];
  #maxTenthsA: number[] | undefined;
  #lastedMs = 0;

  note(now: GridTenthsA | undefined): void {
    if (now !== undefined)
      this.#maxTenthsA = now.map((tenthsA, i) => Math.max(tenthsA, this.#maxTenthsA?.[i] ?? 0));
  }

  add(drawn: GridTenthsA | undefined, elapsedMs: number): void {
    if (drawn === undefined) return;
    for (const [i, tenthsA] of drawn.entries())
      this.#tenthsAms[i] = (this.#tenthsAms[i] ?? 0) + tenthsA * elapsedMs;
    this.#lastedMs += elapsedMs;
  }

  /** @param now currents at the start of the next minute */
  end(now: GridTenthsA | undefined): EndedCurrents | null {
    const ofPhases = (value: (i: number) => number): GridTenthsA => [value(0), value(1), value(2)];
    const [sums, most, lastedMs] = [this.#tenthsAms, this.#maxTenthsA, this.#lastedMs];
    this.#tenthsAms = [0, 0, 0];
    this.#maxTenthsA = now === undefined ? undefined : [...now];
    this.#lastedMs = 0;
    if (lastedMs === 0 || most === undefined) return null;
    return {
      meanTenthsA: ofPhases((i) => Math.round((sums[i] ?? 0) / lastedMs)),
      maxTenthsA: ofPhases((i) => most[i] ?? 0),
    };
  }
}

/** Shared by most locations. */
const NO_FEEDERS: readonly CurrentsOfMinute[] = [];

/** Currents of each feeder since its last provisioning. */
class FeedersOfMinute {
  #names: readonly string[] | undefined;
  #each: readonly CurrentsOfMinute[] = NO_FEEDERS;

  note(now: FeederCurrents | undefined): void {
    if (now?.names !== this.#names) {
      this.#names = now?.names;
      this.#each = now?.names.map(() => new CurrentsOfMinute()) ?? NO_FEEDERS;
    }
    for (const [i, each] of this.#each.entries()) each.note(now?.tenthsA[i]);
  }

  add(drawn: FeederCurrents | undefined, elapsedMs: number): void {
    for (const [i, each] of this.#each.entries()) each.add(drawn?.tenthsA[i], elapsedMs);
  }

  /** @param now currents at the start of the next minute */
  end(now: FeederCurrents | undefined): readonly EndedFeeder[] {
    const ended: EndedFeeder[] = [];
    for (const [i, name] of (this.#names ?? []).entries()) {
      const currents = this.#each[i]?.end(now?.tenthsA[i]) ?? null;
      if (currents !== null) ended.push({ name, ...currents });
    }
    return ended;
  }
}

/** Building load of the current minute, over the time in which it is known. */
class BuildingOfMinute {
  #now: BuildingPower | undefined;
  #buildingWms = 0;
  #reserveWms = 0;
  #lastedMs = 0;
  #maxW = Number.NEGATIVE_INFINITY;

  isAsBefore(building: BuildingPower | undefined): boolean {
    return building?.buildingW === this.#now?.buildingW && building?.reserveW === this.#now?.reserveW;
  }

  note(building: BuildingPower | undefined): void {
    this.#now = building;
    if (building !== undefined) this.#maxW = Math.max(this.#maxW, building.buildingW);
  }

  add(elapsedMs: number): void {
    if (this.#now === undefined) return;
    this.#buildingWms += this.#now.buildingW * elapsedMs;
    this.#reserveWms += this.#now.reserveW * elapsedMs;
    this.#lastedMs += elapsedMs;
  }

  end(): EndedBuilding | null {
    const [lastedMs, maxW] = [this.#lastedMs, this.#maxW];
    const meanOf = (sumWms: number) => Math.round(sumWms / lastedMs);
    const [meanW, meanReserveW] = [meanOf(this.#buildingWms), meanOf(this.#reserveWms)];
    this.#buildingWms = 0;
    this.#reserveWms = 0;
    this.#lastedMs = 0;
    this.#maxW = this.#now?.buildingW ?? Number.NEGATIVE_INFINITY;
    return lastedMs === 0 ? null : { meanW, maxW, meanReserveW };
  }
}

/** Times of the monotonic clock in ms, powers in W, sums in W ms. */
export class PowerMinute {
  #sinceMs = 0;
  #drawn: DrawnPower = { actualW: 0, estimatedW: undefined };
  /** undefined before the first limit. */
  #limitW: number | undefined;
  #actualWms = 0;
  #estimatedWms = 0;
  #limitWms = 0;
  #lastedMs = 0;
  #maxW = 0;
  readonly #currents = new CurrentsOfMinute();
  readonly #feeders = new FeedersOfMinute();
  readonly #building = new BuildingOfMinute();
  #lowestLimitW = Number.MAX_SAFE_INTEGER;
  /** Part of the power was estimated. */
  #isEstimated = false;
  /** A power was noted. Before that the minute has no result. */
  #hasReported = false;
  /**
   * End of the minute. Later values belong to the next one, even if the timer fires late. Infinite before the first
   * end.
   */
  #endsAtMs = Number.POSITIVE_INFINITY;
  /** The completed minute, until `end` returns it. */
  #ended: Omit<EndedMinute, 'atMs'> | 'unknown' | undefined;

  get hasReported(): boolean {
    return this.#hasReported;
  }

  /** Records the draw from `nowMs` on. */
  notePower(drawn: DrawnPower, nowMs: number): void {
    const { actualW, estimatedW, gridTenthsA, feeders } = drawn;
    const before = this.#drawn;
    const isSamePower = actualW === before.actualW && estimatedW === before.estimatedW;
    const areSameCurrents = gridTenthsA === before.gridTenthsA && feeders === before.feeders;
    if (isSamePower && areSameCurrents && this.#hasReported) return;
    this.#passTime(nowMs);
    this.#currents.note(gridTenthsA);
    this.#feeders.note(feeders);
    this.#hasReported = true;
    this.#drawn = drawn;
    this.#isEstimated ||= estimatedW !== undefined;
    if (actualW > this.#maxW) this.#maxW = actualW;
  }

  /** Records the limit from `nowMs` on. */
  noteLimit(limitW: number, nowMs: number): void {
    if (limitW === this.#limitW) return;
    this.#passTime(nowMs);
    this.#limitW = limitW;
    if (limitW < this.#lowestLimitW) this.#lowestLimitW = limitW;
  }

  /** Records the building load from `nowMs` on; undefined if unknown. */
  noteBuilding(building: BuildingPower | undefined, nowMs: number): void {
    if (this.#building.isAsBefore(building)) return;
    this.#passTime(nowMs);
    this.#building.note(building);
  }

  /**
   * Completes the minute that began at `atMs` and ended at `endedAtMs`, possibly some time ago. The new minute ends at
   * `nextEndsAtMs`. undefined if nothing is known.
   */
  end(atMs: EpochMs, endedAtMs: number, nextEndsAtMs: number): EndedMinute | undefined {
    this.#passTime(endedAtMs);
    const ended = this.#ended ?? this.#summed();
    this.#ended = undefined;
    this.#endsAtMs = nextEndsAtMs;
    return ended === 'unknown' ? undefined : { atMs, ...ended };
  }

  /** Returns the sums and resets them. */
  #summed(): Omit<EndedMinute, 'atMs'> | 'unknown' {
    const lastedMs = this.#lastedMs;
    const ended = {
      meanW: Math.round(this.#actualWms / lastedMs),
      maxW: this.#maxW,
      estimatedW: this.#isEstimated ? Math.round(this.#estimatedWms / lastedMs) : null,
      limitW: this.#lowestLimitW,
      meanLimitW: Math.round(this.#limitWms / lastedMs),
      currents: this.#currents.end(this.#drawn.gridTenthsA),
      feeders: this.#feeders.end(this.#drawn.feeders),
      building: this.#building.end(),
    };
    this.#actualWms = 0;
    this.#estimatedWms = 0;
    this.#limitWms = 0;
    this.#lastedMs = 0;
    this.#maxW = this.#drawn.actualW;
    this.#lowestLimitW = this.#limitW ?? Number.MAX_SAFE_INTEGER;
    this.#isEstimated = this.#drawn.estimatedW !== undefined;
    return lastedMs === 0 ? 'unknown' : ended;
  }

  #passTime(nowMs: number): void {
    if (nowMs > this.#endsAtMs) {
      this.#add(this.#endsAtMs);
      this.#endsAtMs = Number.POSITIVE_INFINITY;
      this.#ended = this.#summed();
    }
    this.#add(nowMs);
  }

  /** Power and limit cover the same periods, so that their means are comparable. */
  #add(nowMs: number): void {
    if (this.#hasReported && this.#limitW !== undefined) {
      const elapsedMs = Math.max(0, nowMs - this.#sinceMs);
      this.#actualWms += this.#drawn.actualW * elapsedMs;
      this.#estimatedWms += (this.#drawn.estimatedW ?? 0) * elapsedMs;
      this.#limitWms += this.#limitW * elapsedMs;
      this.#currents.add(this.#drawn.gridTenthsA, elapsedMs);
      this.#feeders.add(this.#drawn.feeders, elapsedMs);
      this.#building.add(elapsedMs);
      this.#lastedMs += elapsedMs;
    }
    this.#sinceMs = Math.max(this.#sinceMs, nowMs);
  }
}
