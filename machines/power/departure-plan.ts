// Plan of a location until its last declared departure: the coming limits, divided by the rules of a decision. It
// predicts, and grants nothing.

import type { DeclaredCar, Policy } from '../policy/policies.js';
import { needOf } from '../policy/session-needs.js';
import type { EpochMs, TimeWindow } from '../values/time.js';
import { tenthsWithin, wattsOfLimit, wattsOfTenths } from '../values/units.js';
import { type Allocation, allocate } from './allocation.js';
import { Room } from './claims.js';
import { type Connector, isControlled } from './connector.js';
import { contenderOf } from './connector-targets.js';
import { declaredCarOf } from './declared-cars.js';
import type { Fuses } from './fuses.js';
import { type LimitClaim, type Service, shareInOrder } from './service-order.js';

const MS_PER_H = 3_600_000;
/** A later departure is planned up to here. */
export const PLANNED_AT_MOST_MS = 48 * MS_PER_H;
/** The order of a policy and the turns of cars are renewed after this time. */
const STEP_AT_MOST_MS = 15 * 60_000;
/** A smaller rest of a need is a rounding error. */
const NOTHING_WH = 1;
/** A share of a three-phase current below this is noise of the meter. */
const LEAST_DRAWN_SHARE = 0.3;

/** A window with a limit of the location. */
interface LimitAhead extends TimeWindow {
  readonly limitKw: number;
}

/** A window with or without a lock of a connector. */
interface LockAhead extends TimeWindow {
  readonly limitKw?: number | undefined;
}

/** A car at a controlled connector, as of now. */
interface CarAhead {
  readonly key: string;
  readonly claim: LimitClaim;
  /** It charges to the end of the plan if it has declared nothing. */
  readonly declared: DeclaredCar | undefined;
  /** Energy that it is to have received at its departure, Wh; it may exceed all that it can take. */
  readonly energyWh: number;
  readonly locks: readonly LockAhead[];
  /** Part of a granted power that it draws: a car on one of three phases draws a third. */
  readonly drawnShare: number;
}

export interface SiteAhead {
  readonly cars: readonly CarAhead[];
  /** In order and without gaps, from now on. */
  readonly limits: readonly LimitAhead[];
  /** Reserved for connectors that take no limits now, W, and their load on each circuit phase. */
  readonly uncontrolledW: number;
  /** Left on each circuit phase beside them, tenths of an ampere. */
  readonly roomTenthsA: readonly number[];
  readonly policy: Policy | undefined;
  readonly now: EpochMs;
}

/** Prediction for a declared car. */
export interface PlannedCar {
  readonly key: string;
  readonly departsAtMs: EpochMs;
  /** Since its arrival, Wh. */
  readonly energyWh: number;
  readonly deliveredWh: number;
  /** It has its energy at this time; undefined if it leaves before, or if the plan ends before. */
  readonly readyAtMs: EpochMs | undefined;
  /** Missing at its departure, Wh; 0 if the plan ends before. */
  readonly missingWh: number;
  /** The highest power that it can draw, W. */
  readonly mostW: number;
  /** Power at the end of its stay, W. */
  readonly lastW: number;
  /** Until its departure. */
  readonly leftMs: number;
}

export interface PlannedStep extends TimeWindow {
  readonly limitKw: number;
  /** Power that the cars draw, W, by connector; those without power are left out. */
  readonly drawnW: ReadonlyMap<string, number>;
}

export interface DeparturePlan {
  readonly madeAtMs: EpochMs;
  readonly cars: readonly PlannedCar[];
  readonly steps: readonly PlannedStep[];
}

/** @param locksOf windows of the connector's locks, from now on and in order */
export function siteAhead(
  connectors: Iterable<Connector>,
  fuses: Fuses,
  now: EpochMs,
  {
    limits,
    policy,
    locksOf,
  }: Pick<SiteAhead, 'limits' | 'policy'> & {
    readonly locksOf: (key: string) => readonly LockAhead[];
  },
): SiteAhead {
  const cars: CarAhead[] = [];
  const room = new Room(
    0,
    fuses.circuitPhases.map(({ capacityTenthsA }) => capacityTenthsA),
  );
  for (const connector of connectors) {
    const { account, car, key } = connector;
    if (!isControlled(connector)) {
      room.leftW -= account.boundW;
      room.load(account.circuitPhases, account.boundTenthsA);
    } else if (car.demand.hasCar) {
      const claim = contenderOf(connector, car.demand.mostTenthsA, false);
      cars.push({
        key,
        claim,
        declared: declaredCarOf(connector, claim.mostW, now),
        energyWh: needOf(connector.needs).energyWh ?? 0,
        locks: locksOf(key),
        drawnShare: drawnShareOf(connector),
      });
    }
  }
  return { cars, limits, uncontrolledW: -room.leftW, roomTenthsA: room.leftTenthsA, policy, now };
}

/** By the currents of the last reading; 1 without them. */
function drawnShareOf({ telemetry, account }: Connector): number {
  const { currentA = [] } = telemetry.slot;
  const mostA = Math.max(0, ...currentA);
  const sumA = currentA.reduce((sum, eachA) => sum + eachA, 0);
  const share = mostA === 0 ? 1 : sumA / (mostA * Math.min(account.usedPhases, account.phases));
  return share < LEAST_DRAWN_SHARE ? 1 : Math.min(1, share);
}

/** A car while the plan goes on. */
interface Planned {
  readonly car: CarAhead;
  readonly mostW: number;
  deliveredWh: number;
  readyAtMs: EpochMs | undefined;
  drawnW: number;
  lastW: number;
  /** The last step with power for it; cars without it come first in the next turn. */
  servedAtMs: EpochMs;
}

/**
 * Divides the limits ahead among the cars, step by step until the last declared departure. Each yield is a place to
 * pause, because a plan for a thousand cars takes a second.
 */
export function* planDepartures(site: SiteAhead): Generator<void, DeparturePlan> {
  const { now, limits } = site;
  const all = site.cars.map((car) => plannedOf(car, now));
  const declared = all.filter(({ car }) => car.declared !== undefined);
  const lastMs = Math.max(now, ...declared.map(({ car }) => car.declared?.departsAtMs ?? now));
  const endsAtMs = Math.min(lastMs, now + PLANNED_AT_MOST_MS, limits.at(-1)?.endsAtMs ?? now);
  const shortestMs = shortestStepMs(all.length);
  const steps: PlannedStep[] = [];
  let place = 0;
  for (let atMs = now; atMs < endsAtMs; ) {
    while ((limits[place]?.endsAtMs ?? Number.POSITIVE_INFINITY) <= atMs) place++;
    const limit = limits[place];
    const limitKw = limit?.limitKw ?? 0;
    const there = all.filter((each) => isCharging(each, atMs));
    divide(there, site, limits.slice(place), atMs);
    const untilMs = Math.min(endsAtMs, limit?.endsAtMs ?? endsAtMs, nextStepMs(there, atMs, shortestMs));
    for (const each of there) charge(each, atMs, untilMs);
    const drawing = there.filter(({ drawnW }) => drawnW > 0);
    const drawnW = new Map(drawing.map(({ car, drawnW }) => [car.key, Math.round(drawnW)]));
    steps.push({ startsAtMs: atMs, endsAtMs: untilMs, limitKw, drawnW });
    atMs = untilMs;
    yield;
  }
  return { madeAtMs: now, cars: declared.flatMap((each) => predictionOf(each, now, endsAtMs)), steps };
}

function plannedOf(car: CarAhead, now: EpochMs): Planned {
  const { claim, declared, drawnShare, energyWh } = car;
  const deliveredWh = declared?.deliveredWh ?? 0;
  const isCharging = declared?.isCharging === true;
  const mostW = claim.mostW * drawnShare;
  return {
    car,
    mostW,
    deliveredWh,
    readyAtMs: undefined,
    // A policy keeps cars that charge, so the first step has to know them.
    drawnW: isCharging ? mostW : 0,
    lastW: 0,
    servedAtMs: isCharging ? 1 : 0,
    ...(declared !== undefined && deliveredWh >= energyWh - NOTHING_WH && { readyAtMs: now }),
  };
}

/** Many cars are planned in longer steps, so that the cost of a plan stays bounded. */
function shortestStepMs(cars: number): number {
  if (cars <= 50) return 60_000;
  return cars <= 300 ? 5 * 60_000 : STEP_AT_MOST_MS;
}

/** The car is there and has not got its energy yet. */
function isCharging({ car: { declared }, readyAtMs }: Planned, atMs: EpochMs): boolean {
  return readyAtMs === undefined && (declared === undefined || declared.departsAtMs > atMs);
}

/** Sets `drawnW` of each car by an equal division, and by the policy if power is short (R53). */
function divide(
  there: readonly Planned[],
  { policy, uncontrolledW, roomTenthsA }: SiteAhead,
  limitsAhead: readonly LimitAhead[],
  atMs: EpochMs,
): void {
  const limitW = wattsOfLimit(limitsAhead[0]?.limitKw ?? 0);
  const availableW = limitW - uncontrolledW;
  const inTurn = [...there].sort((a, b) => a.servedAtMs - b.servedAtMs);
  const locked: LimitClaim[] = [];
  const [lockedCars, unlockedCars]: [Planned[], Planned[]] = [[], []];
  for (const each of inTurn) {
    const { claim, locks } = each.car;
    const lock = locks.find(({ startsAtMs, endsAtMs }) => startsAtMs <= atMs && atMs < endsAtMs);
    if (lock?.limitKw === undefined) {
      unlockedCars.push(each);
    } else {
      const { milliwattsPerTenth, floorW, mostW } = claim;
      const lockTenthsA = tenthsWithin(wattsOfLimit(lock.limitKw), milliwattsPerTenth);
      const lockW = Math.max(floorW, Math.min(mostW, wattsOfTenths(lockTenthsA, milliwattsPerTenth)));
      locked.push({ ...claim, mostW: lockW });
      lockedCars.push(each);
    }
  }
  const unlocked = unlockedCars.map(({ car }) => car.claim);
  const allocation = allocate(availableW, locked, unlocked, roomTenthsA);
  const room = new Room(availableW, roomTenthsA);
  const shares = { allocation, locked, unlocked, room };
  const service = policy && { policy, now: atMs, limitW, limitsAhead };
  const { unlockedW } = service === undefined ? allocation : inOrder(shares, unlockedCars, service);
  for (const [i, each] of lockedCars.entries()) draw(each, allocation.lockedW[i] ?? 0, atMs);
  for (const [i, each] of unlockedCars.entries()) draw(each, unlockedW[i] ?? 0, atMs);
}

function inOrder(
  shares: Parameters<typeof shareInOrder>[0] & { readonly allocation: Allocation },
  cars: readonly Planned[],
  service: Service,
): Pick<Allocation, 'unlockedW'> {
  const { allocation } = shares;
  if (allocation.levelW === undefined) return allocation;
  const declared = new Map<number, DeclaredCar>();
  for (const [place, { car, deliveredWh, drawnW }] of cars.entries())
    if (car.declared !== undefined && allocation.yields[place] === 'nothing')
      declared.set(place, { ...car.declared, deliveredWh, isCharging: drawnW > 0 });
  return declared.size === 0 ? allocation : shareInOrder(shares, declared, service);
}

function draw(each: Planned, shareW: number, atMs: EpochMs): void {
  const { claim, drawnShare } = each.car;
  const { leastTenthsA, milliwattsPerTenth } = claim;
  // A limit has whole tenths of an ampere, so that the shares in an order fit beside the others.
  const tenthsA = Math.floor(tenthsWithin(shareW, milliwattsPerTenth));
  each.drawnW = tenthsA < leastTenthsA ? 0 : wattsOfTenths(tenthsA, milliwattsPerTenth) * drawnShare;
  each.lastW = each.drawnW;
  if (each.drawnW > 0) each.servedAtMs = atMs;
}

/** The next departure, begin or end of a lock, or car with its energy. */
function nextStepMs(there: readonly Planned[], atMs: EpochMs, shortestMs: number): EpochMs {
  let nextMs = atMs + STEP_AT_MOST_MS;
  for (const { car, deliveredWh, drawnW } of there) {
    for (const { startsAtMs, endsAtMs } of car.locks)
      for (const boundaryMs of [startsAtMs, endsAtMs])
        if (boundaryMs > atMs) nextMs = Math.min(nextMs, boundaryMs);
    if (car.declared === undefined) continue;
    nextMs = Math.min(nextMs, car.declared.departsAtMs);
    if (drawnW > 0)
      nextMs = Math.min(
        nextMs,
        atMs + Math.max(shortestMs, ((car.energyWh - deliveredWh) / drawnW) * MS_PER_H),
      );
  }
  return Math.ceil(nextMs);
}

function charge(each: Planned, fromMs: EpochMs, untilMs: EpochMs): void {
  const { car, drawnW, deliveredWh } = each;
  each.deliveredWh += (drawnW * (untilMs - fromMs)) / MS_PER_H;
  if (car.declared === undefined || each.deliveredWh < car.energyWh - NOTHING_WH) return;
  each.deliveredWh = car.energyWh;
  each.readyAtMs = Math.round(fromMs + ((car.energyWh - deliveredWh) / drawnW) * MS_PER_H);
}

function predictionOf(
  { car, deliveredWh, readyAtMs, mostW, lastW }: Planned,
  now: EpochMs,
  endsAtMs: EpochMs,
): readonly PlannedCar[] {
  const { key, declared, energyWh } = car;
  if (declared === undefined) return [];
  const { departsAtMs } = declared;
  const isMissing = readyAtMs === undefined && departsAtMs <= endsAtMs;
  const missingWh = isMissing ? Math.max(0, energyWh - deliveredWh) : 0;
  return [
    {
      key,
      departsAtMs,
      energyWh,
      deliveredWh: declared.deliveredWh,
      readyAtMs,
      missingWh,
      mostW,
      lastW,
      leftMs: departsAtMs - now,
    },
  ];
}
