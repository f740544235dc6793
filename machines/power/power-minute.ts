// What a location draws in the minute that runs: time-weighted, so that uneven meter values weigh what they lasted.
import type { EpochMs } from '../values/time.js';

/** Tenths of an ampere on L1, L2 and L3 of the grid. */
export type GridTenthsA = readonly [number, number, number];

/** What a location draws. Powers in W. */
export interface DrawnPower {
  readonly actualW: number;
  /** How much of it is an estimate; undefined where everything is measured. */
  readonly estimatedW: number | undefined;
  /** Left out where no fuse of it is known. */
  readonly gridTenthsA?: GridTenthsA | undefined;
  /** Left out where it has no feeders. */
  readonly feeders?: FeederCurrents | undefined;
}

/** What flows through each feeder: as many as there are names, in their order. */
export interface FeederCurrents {
  /** Another object once they are provisioned otherwise. */
  readonly names: readonly string[];
  readonly tenthsA: readonly GridTenthsA[];
}

/** A minute as it ended. Powers in W. */
export interface EndedMinute {
  /** When it began. */
  readonly atMs: EpochMs;
  /** Time-weighted mean of what the location's connectors count with. */
  readonly meanW: number;
  readonly maxW: number;
  /** How much of the mean silent connectors count with: an estimate; null where everything was measured. */
  readonly estimatedW: number | null;
  /** The lowest grid limit in force during it. */
  readonly limitW: number;
  /** Time-weighted mean of the grid limit: what a lawful mean is held to. */
  readonly meanLimitW: number;
  /** null where no fuse is known. */
  readonly currents: EndedCurrents | null;
  /** Of each feeder; none where there are none. */
  readonly feeders: readonly EndedFeeder[];
  /** null where no meter tells what a building takes. */
  readonly building: EndedBuilding | null;
}

/** What a building beside the chargers counts as, and what is kept free for it to rise. Powers in W. */
export interface BuildingPower {
  readonly buildingW: number;
  readonly reserveW: number;
}

/** Time-weighted means of that, and the most that the building counted as at any moment. Powers in W. */
export interface EndedBuilding {
  readonly meanW: number;
  readonly maxW: number;
  readonly meanReserveW: number;
}

/** What flowed on each phase of the grid: the time-weighted mean, and the most at any moment. */
export interface EndedCurrents {
  readonly meanTenthsA: GridTenthsA;
  readonly maxTenthsA: GridTenthsA;
}

/** What flowed through a feeder. */
export interface EndedFeeder extends EndedCurrents {
  readonly name: string;
}

/** The currents of the minute that runs, for as long as they are known in it. */
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

  /** @param now what flows as the next minute begins */
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

/** Of most locations, which share it. */
const NO_FEEDERS: readonly CurrentsOfMinute[] = [];

/** The same of each feeder, since it was provisioned as it is. */
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

  /** @param now what flows as the next minute begins */
  end(now: FeederCurrents | undefined): readonly EndedFeeder[] {
    const ended: EndedFeeder[] = [];
    for (const [i, name] of (this.#names ?? []).entries()) {
      const currents = this.#each[i]?.end(now?.tenthsA[i]) ?? null;
      if (currents !== null) ended.push({ name, ...currents });
    }
    return ended;
  }
}

/** The building of the minute that runs, for as long as it is known in it. */
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
  /** undefined before it is known. */
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
  /** Something in it was estimated. */
  #isEstimated = false;
  /** Something is known of its power: before that there is nothing to say. */
  #isHeardOf = false;
  /** When it ends: what comes later is of the next one, however late the timer is that ends it. Infinite before the first end. */
  #endsAtMs = Number.POSITIVE_INFINITY;
  /** The one before, from its end until it is taken away. */
  #ended: Omit<EndedMinute, 'atMs'> | 'unknown' | undefined;

  get isHeardOf(): boolean {
    return this.#isHeardOf;
  }

  /** The location draws this from `nowMs` on. */
  notePower(drawn: DrawnPower, nowMs: number): void {
    const { actualW, estimatedW, gridTenthsA, feeders } = drawn;
    const before = this.#drawn;
    const isSamePower = actualW === before.actualW && estimatedW === before.estimatedW;
    const areSameCurrents = gridTenthsA === before.gridTenthsA && feeders === before.feeders;
    if (isSamePower && areSameCurrents && this.#isHeardOf) return;
    this.#passTime(nowMs);
    this.#currents.note(gridTenthsA);
    this.#feeders.note(feeders);
    this.#isHeardOf = true;
    this.#drawn = drawn;
    this.#isEstimated ||= estimatedW !== undefined;
    if (actualW > this.#maxW) this.#maxW = actualW;
  }

  /** The location's limit is `limitW` from `nowMs` on. */
  noteLimit(limitW: number, nowMs: number): void {
    if (limitW === this.#limitW) return;
    this.#passTime(nowMs);
    this.#limitW = limitW;
    if (limitW < this.#lowestLimitW) this.#lowestLimitW = limitW;
  }

  /** A building counts as that from `nowMs` on; undefined where none is known. */
  noteBuilding(building: BuildingPower | undefined, nowMs: number): void {
    if (this.#building.isAsBefore(building)) return;
    this.#passTime(nowMs);
    this.#building.note(building);
  }

  /**
   * The minute that began at the instant `atMs` and ended at `endedAtMs`, which may be a while ago, and a new one begun that
   * ends at `nextEndsAtMs`; undefined where nothing is known.
   */
  end(atMs: EpochMs, endedAtMs: number, nextEndsAtMs: number): EndedMinute | undefined {
    this.#passTime(endedAtMs);
    const ended = this.#ended ?? this.#summed();
    this.#ended = undefined;
    this.#endsAtMs = nextEndsAtMs;
    return ended === 'unknown' ? undefined : { atMs, ...ended };
  }

  /** What was summed up, and the sums begun anew. */
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

  /** Power and limit are kept for the same stretches of time, so that their means can be compared. */
  #add(nowMs: number): void {
    if (this.#isHeardOf && this.#limitW !== undefined) {
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
