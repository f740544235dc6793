// Energy that a constant power can deliver to several cars before they leave: the walk through time of a policy.

const STEP_MS = 15 * 60_000;
const MS_PER_H = 3_600_000;
/** Departures beyond two days change no order of today. */
const MOST_STEPS = 192;
/** A smaller rest is a rounding error. */
const NOTHING_WH = 0.01;

/** Energy that a car is to receive, and the time that is left for it. */
export interface Order {
  readonly wh: number;
  /** Until its departure. */
  readonly leftMs: number;
  readonly mostW: number;
}

/** Energy of an order in each step, from its first step on. */
export interface Placed {
  readonly from: number;
  readonly whs: readonly number[];
}

/** Free energy of each quarter of an hour from now on. Orders take the earliest. */
export class CapacityWalk {
  readonly #freeWh: Float64Array;
  readonly #startsAt: number;
  /** All steps before it are used up. */
  #first: number;

  /** @param delayMs power before this time is not used */
  constructor(capacityW: number, delayMs = 0) {
    this.#freeWh = new Float64Array(MOST_STEPS).fill((Math.max(0, capacityW) * STEP_MS) / MS_PER_H);
    this.#startsAt = Math.ceil(delayMs / STEP_MS);
    this.#first = this.#startsAt;
  }

  /** Takes the energy of an order; undefined, and nothing taken, if it does not fit before the departure. */
  place({ wh, leftMs, mostW }: Order): Placed | undefined {
    const end = Math.min(leftMs / STEP_MS, MOST_STEPS);
    const from = this.#first;
    const whs: number[] = [];
    let leftWh = wh;
    for (let step = from; step < end && leftWh > NOTHING_WH; step++) {
      const part = Math.min(1, end - step);
      const takenWh = Math.min(leftWh, this.#freeWh[step] ?? 0, (mostW * part * STEP_MS) / MS_PER_H);
      whs.push(takenWh);
      leftWh -= takenWh;
    }
    if (leftWh > NOTHING_WH) return undefined;
    this.#change({ from, whs }, -1);
    return { from, whs };
  }

  /** Returns the energy of an order. */
  free(placed: Placed): void {
    this.#change(placed, 1);
    this.#first = this.#startsAt;
  }

  #change({ from, whs }: Placed, sign: 1 | -1): void {
    for (const [nth, wh] of whs.entries())
      this.#freeWh[from + nth] = (this.#freeWh[from + nth] ?? 0) + sign * wh;
    while (this.#first < MOST_STEPS && (this.#freeWh[this.#first] ?? 0) <= NOTHING_WH) this.#first++;
  }
}
