// Policies of a location: the order in which cars with a declared departure are served while power is short.

import type { EpochMs } from '../values/time.js';
import { type Capacity, CapacityWalk, type CarLoad, type Order, type Placed } from './capacity-walk.js';

/** A car with a departure and a need. Powers in W, energies in Wh. */
export interface DeclaredCar extends CarLoad {
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
 * @param capacity of all these cars together
 */
export type Policy = (
  cars: readonly DeclaredCar[],
  capacity: Capacity,
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
function orderOf(car: DeclaredCar, wh: number, now: EpochMs, load: CarLoad = car): Order {
  const { departsAtMs, mostW } = car;
  const leftMs = departsAtMs - now;
  return { wh: Math.min(wh, (mostW * leftMs) / MS_PER_H), leftMs, mostW, load };
}

/** By ascending key; ties by key of the connector, so that every run decides alike. Cars that charge are kept. */
function sorted(cars: readonly DeclaredCar[], keyOf: (car: DeclaredCar) => number): readonly DeclaredCar[] {
  const keyed = cars.map((car) => ({ car, at: keyOf(car) - (car.isCharging ? KEPT_FOR_MS : 0) }));
  keyed.sort((a, b) => a.at - b.at || (a.car.key < b.car.key ? -1 : 1));
  return keyed.map(({ car }) => car);
}

/** Least laxity first. Under a capacity that suffices for all, every car gets its need (Dertouzos and Mok, 1989). */
const energy: Policy = (cars, _capacity, now) => sorted(cars, (car) => laxityMs(car, missingWh(car), now));

/** Earliest departure first. */
function byDeparture(cars: readonly DeclaredCar[]): readonly DeclaredCar[] {
  return [...cars].sort((a, b) => a.departsAtMs - b.departsAtMs || (a.key < b.key ? -1 : 1));
}

function lastsMsOf(cars: readonly DeclaredCar[], now: EpochMs): number {
  return cars.reduce((lastMs, { departsAtMs }) => Math.max(lastMs, departsAtMs - now), 0);
}

/** Share of each car's need, from 0 to 1; 1 if left out. */
type Shares = ReadonlyMap<DeclaredCar, number>;

/**
 * The largest share of every need that a walk finds possible, from 0 to 1.
 * @param inOrder by departure
 * @param most a lower one holds back no other car
 */
function commonShareOf(
  inOrder: readonly DeclaredCar[],
  capacity: Capacity,
  now: EpochMs,
  { most, loadOf }: { readonly most: Shares; readonly loadOf: (car: DeclaredCar) => CarLoad },
): number {
  const walk = new CapacityWalk(capacity, now, lastsMsOf(inOrder, now));
  const entries = inOrder.map((car) => ({ car, mostShare: most.get(car) ?? 1, load: loadOf(car) }));
  const isPossible = (share: number) => {
    walk.restart();
    return entries.every(({ car, mostShare, load }) => {
      const wh = missingWh(car, Math.min(share, mostShare));
      return wh === 0 || walk.place(orderOf(car, wh, now, load)) !== undefined;
    });
  };
  if (isPossible(1)) return 1;
  let [least, above] = [0, 1];
  for (let nth = 0; nth < HALVINGS; nth++) {
    const middle = (least + above) / 2;
    if (isPossible(middle)) least = middle;
    else above = middle;
  }
  return least;
}

/** Cars of each circuit phase that cannot carry all of them at once, the fewest cars first. */
function onShortPhases(
  cars: readonly DeclaredCar[],
  { roomTenthsA }: Capacity,
): readonly (readonly [circuitPhase: number, on: readonly DeclaredCar[]])[] {
  const mostTenthsA = roomTenthsA.map(() => 0);
  const on = roomTenthsA.map((): DeclaredCar[] => []);
  for (const car of cars)
    for (const circuitPhase of car.circuitPhases) {
      mostTenthsA[circuitPhase] =
        (mostTenthsA[circuitPhase] ?? 0) + (car.mostW * 1000) / car.milliwattsPerTenth;
      on[circuitPhase]?.push(car);
    }
  return [...on.entries()]
    .filter(([circuitPhase]) => (mostTenthsA[circuitPhase] ?? 0) > (roomTenthsA[circuitPhase] ?? 0))
    .sort(([, a], [, b]) => a.length - b.length);
}

/**
 * Share of each car: the largest that all can have, or less if its circuit phases carry less. So a short feeder holds
 * back no car of another one.
 */
function sharesOf(cars: readonly DeclaredCar[], capacity: Capacity, now: EpochMs): Shares {
  const inOrder = byDeparture(cars);
  const shares = new Map<DeclaredCar, number>();
  const short = onShortPhases(inOrder, capacity);
  for (const [circuitPhase, on] of short) {
    const alone: Capacity = {
      powers: [{ powerW: Number.POSITIVE_INFINITY, endsAtMs: Number.POSITIVE_INFINITY }],
      roomTenthsA: [capacity.roomTenthsA[circuitPhase] ?? 0],
    };
    const loadOf = ({ milliwattsPerTenth }: DeclaredCar) => ({ circuitPhases: [0], milliwattsPerTenth });
    const share = commonShareOf(on, alone, now, { most: shares, loadOf });
    if (share < 1) for (const car of on) shares.set(car, Math.min(share, shares.get(car) ?? 1));
  }
  const phases = new Set(short.map(([circuitPhase]) => circuitPhase));
  const loadOf = ({ circuitPhases, milliwattsPerTenth }: DeclaredCar) => ({
    circuitPhases: circuitPhases.filter((circuitPhase) => phases.has(circuitPhase)),
    milliwattsPerTenth,
  });
  const share = commonShareOf(inOrder, capacity, now, { most: shares, loadOf });
  return new Map(inOrder.map((car) => [car, Math.min(share, shares.get(car) ?? 1)]));
}

/** Least laxity first, by the energy that is missing to the share of each need. */
const fair: Policy = (cars, capacity, now) => {
  const shares = sharesOf(cars, capacity, now);
  return sorted(cars, (car) => {
    const wh = missingWh(car, shares.get(car));
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
 * one with the most missing energy is left out (Moore, Management Science 15, 1968). If that does not help, it is the
 * one with the most among those on the same short circuit phases.
 */
function inTimeOf(cars: readonly DeclaredCar[], capacity: Capacity, now: EpochMs): readonly InTime[] {
  const walk = new CapacityWalk(capacity, now, lastsMsOf(cars, now));
  const chosen: InTime[] = [];
  /** Places the order instead of the largest one that `isRival` selects. */
  const replace = (order: Order, isRival: (held: CarLoad) => boolean): Placed | undefined => {
    let largest = -1;
    for (const [i, { order: held }] of chosen.entries())
      if (held.wh > (chosen[largest]?.order.wh ?? order.wh) && isRival(held.load)) largest = i;
    const leftOut = chosen[largest];
    if (leftOut === undefined) return undefined;
    walk.free(leftOut.placed);
    const placed = walk.place(order);
    if (placed === undefined) walk.takeAgain(leftOut.placed);
    else chosen.splice(largest, 1);
    return placed;
  };
  for (const car of byDeparture(cars)) {
    const wh = missingWh(car, SERVED);
    const order = orderOf(car, wh, now);
    if (wh === 0 || order.wh < wh) continue;
    let placed = walk.place(order) ?? replace(order, () => true);
    if (placed === undefined && car.circuitPhases.length > 0) {
      const short = walk.shortFor(order);
      placed = replace(order, ({ circuitPhases }) => circuitPhases.some((each) => short.has(each)));
    }
    if (placed !== undefined) chosen.push({ car, order, placed });
  }
  return chosen;
}

/** All of them are in time, although no one is served until then. */
function canWait(inTime: readonly InTime[], capacity: Capacity, now: EpochMs, delayMs: number): boolean {
  const lastsMs = inTime.reduce((lastMs, { order }) => Math.max(lastMs, order.leftMs), 0);
  const walk = new CapacityWalk(capacity, now, lastsMs, delayMs);
  return inTime.every(({ order }) => walk.place(order) !== undefined);
}

/** Least laxity first, but the cars that can be served in time precede all others, unless these can wait. */
const onTime: Policy = (cars, capacity, now) => {
  const inTime = inTimeOf(cars, capacity, now);
  const precede = new Set(inTime.map(({ car }) => car));
  const laterMs = canWait(inTime, capacity, now, POSTPONED_MS) ? 0 : NEXT_RANK_MS;
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
  capacity: Capacity,
  now: EpochMs,
): readonly DeclaredCar[] {
  const belowMinimum = cars.filter((car) => car.deliveredWh < Math.min(car.minimumWh, car.needWh));
  const first = energy(
    belowMinimum.map((car) => ({ ...car, needWh: Math.min(car.minimumWh, car.needWh) })),
    capacity,
    now,
  ).map(({ key }) => key);
  const places = new Map(first.map((key, place) => [key, place]));
  const others = policy(cars, capacity, now);
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
