// Policies of a location: the order in which cars with a declared departure are served while power is short.

import type { EpochMs } from '../values/time.js';
import { CapacityWalk, type Order, type Placed } from './capacity-walk.js';

/** A car with a departure and a need. Powers in W, energies in Wh. */
export interface DeclaredCar {
  /** Of its connector. */
  readonly key: string;
  readonly departsAtMs: EpochMs;
  /** Since its arrival, at most the energy that it can take in its stay. */
  readonly needWh: number;
  readonly deliveredWh: number;
  readonly minimumWh: number;
  readonly priority: number;
  /** The highest power that it can use. */
  readonly mostW: number;
  readonly isCharging: boolean;
}

/**
 * Orders the cars by service: the first one gets all that it can use, then the next one. It is a pure function, and
 * grants nothing: each limit is still a decision of the ledger.
 * @param capacityW power for all of them together
 */
export type Policy = (
  cars: readonly DeclaredCar[],
  capacityW: number,
  now: EpochMs,
) => readonly DeclaredCar[];

/** `equal` uses no departure. */
export const POLICY_NAMES = ['equal', 'fair', 'energy', 'onTime'] as const;
export type PolicyName = (typeof POLICY_NAMES)[number];

const MS_PER_H = 3_600_000;
/** A car that charges is replaced only by one with less laxity than this, because each start costs its car something. */
const KEPT_FOR_MS = 3_600_000;
/** Cars with a lower rank come first, however little laxity the others have. */
const NEXT_RANK_MS = 1_000 * MS_PER_H;
/** Halvings of the interval in which the largest common share lies. */
const HALVINGS = 12;
/** Of a need: a car with this share counts as served in time. */
const SERVED = 0.92;
/** Cars that cannot be served in time come first while the others can all wait for this long. */
const POSTPONED_MS = 30 * 60_000;

/** Time that a car can spare before it must charge without a break to receive `missingWh` (least laxity first). */
function laxityMs({ departsAtMs, mostW }: DeclaredCar, missingWh: number, now: EpochMs): number {
  return departsAtMs - now - (missingWh / mostW) * MS_PER_H;
}

function missingWh({ needWh, deliveredWh }: DeclaredCar, share = 1): number {
  return Math.max(0, share * needWh - deliveredWh);
}

/** `wh` as an order that can be met in the remaining stay. */
function orderOf({ departsAtMs, mostW }: DeclaredCar, wh: number, now: EpochMs): Order {
  const leftMs = departsAtMs - now;
  return { wh: Math.min(wh, (mostW * leftMs) / MS_PER_H), leftMs, mostW };
}

/** By ascending key; ties by key of the connector, so that every run decides alike. Cars that charge are kept. */
function sorted(cars: readonly DeclaredCar[], keyOf: (car: DeclaredCar) => number): readonly DeclaredCar[] {
  const keyed = cars.map((car) => ({ car, at: keyOf(car) - (car.isCharging ? KEPT_FOR_MS : 0) }));
  keyed.sort((a, b) => a.at - b.at || (a.car.key < b.car.key ? -1 : 1));
  return keyed.map(({ car }) => car);
}

/** Least laxity first. Under a capacity that suffices for all, every car gets its need (Dertouzos and Mok, 1989). */
const energy: Policy = (cars, _capacityW, now) => sorted(cars, (car) => laxityMs(car, missingWh(car), now));

/** Earliest departure first. */
function byDeparture(cars: readonly DeclaredCar[]): readonly DeclaredCar[] {
  return [...cars].sort((a, b) => a.departsAtMs - b.departsAtMs || (a.key < b.key ? -1 : 1));
}

/** The largest share of every need that a walk by earliest departure finds possible, from 0 to 1. */
function commonShareOf(cars: readonly DeclaredCar[], capacityW: number, now: EpochMs): number {
  const inOrder = byDeparture(cars);
  const isPossible = (share: number) => {
    const walk = new CapacityWalk(capacityW);
    return inOrder.every((car) => {
      const wh = missingWh(car, share);
      return wh === 0 || walk.place(orderOf(car, wh, now)) !== undefined;
    });
  };
  if (isPossible(1)) return 1;
  let [least, most] = [0, 1];
  for (let nth = 0; nth < HALVINGS; nth++) {
    const middle = (least + most) / 2;
    if (isPossible(middle)) least = middle;
    else most = middle;
  }
  return least;
}

/** Least laxity first, by the energy that is missing to the largest common share of all needs. */
const fair: Policy = (cars, capacityW, now) => {
  const share = commonShareOf(cars, capacityW, now);
  return sorted(cars, (car) => {
    const wh = missingWh(car, share);
    return wh > 0 ? laxityMs(car, wh, now) : NEXT_RANK_MS + laxityMs(car, missingWh(car), now);
  });
};

interface InTime {
  readonly car: DeclaredCar;
  readonly order: Order;
  readonly placed: Placed;
}

/**
 * The result has as many cars as can all be served in time. Whenever one does not fit, in the order of departures, the
 * one with the most missing energy is left out (Moore, Management Science 15, 1968).
 */
function inTimeOf(cars: readonly DeclaredCar[], capacityW: number, now: EpochMs): readonly InTime[] {
  const walk = new CapacityWalk(capacityW);
  const chosen: InTime[] = [];
  for (const car of byDeparture(cars)) {
    const wh = missingWh(car, SERVED);
    const order = orderOf(car, wh, now);
    if (wh === 0 || order.wh < wh) continue;
    let placed = walk.place(order);
    if (placed === undefined) {
      let largest = -1;
      for (const [i, { order: held }] of chosen.entries())
        if (held.wh > (chosen[largest]?.order.wh ?? wh)) largest = i;
      const [leftOut] = largest < 0 ? [] : chosen.splice(largest, 1);
      if (leftOut === undefined) continue;
      walk.free(leftOut.placed);
      placed = walk.place(order);
    }
    if (placed !== undefined) chosen.push({ car, order, placed });
  }
  return chosen;
}

/** All of them are in time, although no one is served until then. */
function canWait(inTime: readonly InTime[], capacityW: number, delayMs: number): boolean {
  const walk = new CapacityWalk(capacityW, delayMs);
  return inTime.every(({ order }) => walk.place(order) !== undefined);
}

/** Least laxity first, but the cars that can be served in time precede all others, unless these can wait. */
const onTime: Policy = (cars, capacityW, now) => {
  const inTime = inTimeOf(cars, capacityW, now);
  const precede = new Set(inTime.map(({ car }) => car));
  const laterMs = canWait(inTime, capacityW, POSTPONED_MS) ? 0 : NEXT_RANK_MS;
  return sorted(cars, (car) =>
    precede.has(car)
      ? laxityMs(car, missingWh(car, SERVED), now)
      : laterMs + laxityMs(car, missingWh(car), now),
  );
};

/** By the name in the provisioning file; `equal` has none, because it orders nothing. */
export const POLICIES: Readonly<Record<Exclude<PolicyName, 'equal'>, Policy>> = { fair, energy, onTime };

/** Further energy would exceed the declared need. */
function hasNeed(car: DeclaredCar): boolean {
  return missingWh(car) === 0;
}

/**
 * The order of service under any policy: first the cars below their declared minimum, then those with the higher
 * priority, each in the order of the policy. Cars that have their need come last. So a policy starves no car.
 */
export function orderOfService(
  policy: Policy,
  cars: readonly DeclaredCar[],
  capacityW: number,
  now: EpochMs,
): readonly DeclaredCar[] {
  const belowMinimum = cars.filter((car) => car.deliveredWh < Math.min(car.minimumWh, car.needWh));
  const first = energy(
    belowMinimum.map((car) => ({ ...car, needWh: Math.min(car.minimumWh, car.needWh) })),
    capacityW,
    now,
  ).map(({ key }) => key);
  const places = new Map(first.map((key, place) => [key, place]));
  const others = policy(cars, capacityW, now);
  return [...others]
    .map((car, place) => ({ car, place }))
    .sort(
      (a, b) =>
        (places.get(a.car.key) ?? cars.length) - (places.get(b.car.key) ?? cars.length) ||
        Number(hasNeed(a.car)) - Number(hasNeed(b.car)) ||
        b.car.priority - a.car.priority ||
        a.place - b.place,
    )
    .map(({ car }) => car);
}
