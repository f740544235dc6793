// Energy that power and circuit phases can deliver to several cars before they leave: a policy's walk through time.

import type { EpochMs } from '../values/time.js';

const STEP_MS = 15 * 60_000;
const MS_PER_H = 3_600_000;
const STEP_H = STEP_MS / MS_PER_H;
/** Departures beyond two days change no order of today. */
export const LOOKS_AHEAD_MS = 48 * MS_PER_H;
/** A smaller rest is a rounding error, in Wh and in tenths of an ampere. */
const NOTHING = 0.01;

/** Power until the end of its window. */
export interface PowerAhead {
  readonly powerW: number;
  readonly endsAtMs: EpochMs;
}

/** Capacity for all declared cars of a location together. */
export interface Capacity {
  /** From now on, in order and without gaps; the last one holds on. */
  readonly powers: readonly PowerAhead[];
  /** Remaining capacity of each circuit phase for them, tenths of an ampere. */
  readonly roomTenthsA: readonly number[];
}

/** Load of a car: its current loads each of these circuit phases. */
export interface CarLoad {
  /** Indices in `roomTenthsA`. */
  readonly circuitPhases: readonly number[];
  readonly milliwattsPerTenth: number;
}

/** Energy that a car is to receive, and the time that is left for it. */
export interface Order {
  readonly wh: number;
  /** Until its departure. */
  readonly leftMs: number;
  readonly mostW: number;
  readonly load: CarLoad;
}

/** Energy of an order in each step, from its first step on. */
export interface Placed {
  readonly order: Order;
  readonly from: number;
  readonly whs: readonly number[];
}

/** Index of the power among the resources of a walk. The circuit phases follow. */
const POWER = 0;

/**
 * Free energy and free current of each quarter of an hour from now on. An order takes the earliest, of the power and of
 * each circuit phase that it loads.
 */
export class CapacityWalk {
  readonly #steps: number;
  readonly #startsAt: number;
  /** Wh of each step, then tenths of an ampere of each step on each circuit phase. */
  readonly #all: Float64Array;
  readonly #free: Float64Array;
  /** By resource: all steps before it are used up. */
  readonly #first: Int32Array;

  /**
   * @param lastsMs time until the last departure
   * @param delayMs capacity before this time is not used
   */
  constructor({ powers, roomTenthsA }: Capacity, now: EpochMs, lastsMs: number, delayMs = 0) {
    this.#steps = Math.ceil(Math.min(lastsMs, LOOKS_AHEAD_MS) / STEP_MS);
    this.#startsAt = Math.ceil(delayMs / STEP_MS);
    const resources = 1 + roomTenthsA.length;
    this.#all = new Float64Array(resources * this.#steps);
    const last = powers.length - 1;
    const endOf = (nth: number) =>
      (nth < last ? powers[nth]?.endsAtMs : undefined) ?? Number.POSITIVE_INFINITY;
    let nth = 0;
    for (let step = 0; step < this.#steps; step++) {
      const endMs = now + (step + 1) * STEP_MS;
      for (let atMs = endMs - STEP_MS; atMs < endMs; ) {
        while (endOf(nth) <= atMs) nth++;
        const untilMs = Math.min(endMs, endOf(nth));
        const powerW = Math.max(0, powers[nth]?.powerW ?? 0);
        this.#all[step] = (this.#all[step] ?? 0) + (powerW * (untilMs - atMs)) / MS_PER_H;
        atMs = untilMs;
      }
    }
    for (const [circuitPhase, tenthsA] of roomTenthsA.entries()) {
      const row = (1 + circuitPhase) * this.#steps;
      this.#all.fill(Math.max(0, tenthsA), row, row + this.#steps);
    }
    this.#free = new Float64Array(this.#all);
    this.#first = new Int32Array(resources).fill(this.#startsAt);
  }

  /** Returns the energy of all orders. */
  restart(): void {
    this.#free.set(this.#all);
    this.#first.fill(this.#startsAt);
  }

  /** Takes the energy of an order; undefined, and nothing taken, if it does not fit before the departure. */
  place(order: Order): Placed | undefined {
    const { wh, leftMs, mostW, load } = order;
    const tenthsPerWh = tenthsPerWhOf(load);
    const end = Math.min(leftMs / STEP_MS, this.#steps);
    let from = this.#first[POWER] ?? 0;
    for (const circuitPhase of load.circuitPhases) from = Math.max(from, this.#first[1 + circuitPhase] ?? 0);
    const whs: number[] = [];
    let leftWh = wh;
    for (let step = from; step < end && leftWh > NOTHING; step++) {
      const part = Math.min(1, end - step);
      let takenWh = Math.min(leftWh, this.#free[step] ?? 0, mostW * part * STEP_H);
      for (const circuitPhase of load.circuitPhases)
        takenWh = Math.min(takenWh, this.#freeTenthsA(circuitPhase, step) / tenthsPerWh);
      whs.push(takenWh);
      leftWh -= takenWh;
    }
    if (leftWh > NOTHING) return undefined;
    const placed = { order, from, whs };
    this.#change(placed, -1);
    return placed;
  }

  /** Takes the energy that `free` has returned. */
  takeAgain(placed: Placed): void {
    this.#change(placed, -1);
  }

  /** Returns the energy of an order. */
  free(placed: Placed): void {
    this.#change(placed, 1);
    this.#first.fill(this.#startsAt);
  }

  /** Circuit phases that leave an order less than its highest power in some step before its departure. */
  shortFor({ leftMs, mostW, load }: Order): ReadonlySet<number> {
    const mostTenthsA = mostW * STEP_H * tenthsPerWhOf(load);
    const end = Math.min(leftMs / STEP_MS, this.#steps);
    const short = new Set<number>();
    for (const circuitPhase of load.circuitPhases)
      for (let step = this.#startsAt; step < end; step++)
        if (this.#freeTenthsA(circuitPhase, step) < mostTenthsA * Math.min(1, end - step))
          short.add(circuitPhase);
    return short;
  }

  #freeTenthsA(circuitPhase: number, step: number): number {
    return this.#free[(1 + circuitPhase) * this.#steps + step] ?? 0;
  }

  #change({ order: { load }, from, whs }: Placed, sign: 1 | -1): void {
    this.#changeOf(POWER, from, whs, sign);
    const tenthsPerWh = tenthsPerWhOf(load);
    for (const circuitPhase of load.circuitPhases)
      this.#changeOf(1 + circuitPhase, from, whs, sign * tenthsPerWh);
  }

  #changeOf(resource: number, from: number, whs: readonly number[], perWh: number): void {
    const row = resource * this.#steps;
    for (let nth = 0; nth < whs.length; nth++) {
      const at = row + from + nth;
      this.#free[at] = (this.#free[at] ?? 0) + perWh * (whs[nth] ?? 0);
    }
    let first = this.#first[resource] ?? 0;
    while (first < this.#steps && (this.#free[row + first] ?? 0) <= NOTHING) first++;
    this.#first[resource] = first;
  }
}

/** Current of a car that receives 1 Wh in a step. */
function tenthsPerWhOf({ milliwattsPerTenth }: CarLoad): number {
  return 1000 / (milliwattsPerTenth * STEP_H);
}
