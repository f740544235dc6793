// Shares of cars with a declared departure, in the order of a policy (R53).

import type { Capacity } from '../policy/capacity-walk.js';
import { type DeclaredCar, orderOfService, type Policy } from '../policy/policies.js';
import type { EpochMs } from '../values/time.js';
import { tenthsWithin, wattsOfLimit, wattsOfTenths } from '../values/units.js';
import type { Allocation } from './allocation.js';
import { type Binding, type Claim, Room } from './claims.js';

/** Order in which cars with a declared departure are served. */
export interface Service {
  readonly policy: Policy;
  /** Wall clock of the division. */
  readonly now: EpochMs;
  /** Limit of the location that is divided, W. */
  readonly limitW: number;
  /** Limits of the location from now on, in order and without gaps; the last one holds on. */
  readonly limitsAhead: readonly LimitAhead[];
}

interface LimitAhead {
  readonly limitKw: number;
  readonly endsAtMs: EpochMs;
}

/** A claim with the currents of its limits. */
export interface LimitClaim extends Claim {
  readonly heldTenthsA: number;
  /** The lowest limit above 0. */
  readonly leastTenthsA: number;
  readonly milliwattsPerTenth: number;
  /** A pause would end the charging of its car. */
  readonly isKeptOn: boolean;
}

/** An equal division of the room among the claims. */
export interface EqualDivision {
  readonly allocation: Pick<Allocation, 'lockedW' | 'unlockedW' | 'bindings'>;
  readonly locked: readonly LimitClaim[];
  readonly unlocked: readonly LimitClaim[];
  /** Capacity for all these claims together. */
  readonly room: Readonly<Room>;
}

/** A declared car and its share. */
interface InService {
  /** Its place among the unlocked claims. */
  readonly place: number;
  readonly claim: LimitClaim;
  /** It has its energy, so it gets only the remainder. */
  readonly isServed: boolean;
  tenthsA: number;
  binding: Binding | undefined;
}

/**
 * Gives to the declared cars, in the order of the policy, all that an equal division gives them or leaves over. All
 * other claims keep their shares.
 * @param declared by the place among the unlocked claims
 */
export function shareInOrder(
  division: EqualDivision,
  declared: ReadonlyMap<number, DeclaredCar>,
  service: Service,
): Pick<Allocation, 'unlockedW' | 'bindings'> {
  const { allocation, unlocked } = division;
  const ofKey = new Map<string, InService>();
  const sharesTenthsA = unlocked.map((claim, place) => {
    const car = declared.get(place);
    if (car === undefined) return tenthsWithin(allocation.unlockedW[place] ?? 0, claim.milliwattsPerTenth);
    const isServed = car.deliveredWh >= car.needWh;
    ofKey.set(car.key, { place, claim, isServed, tenthsA: claim.heldTenthsA, binding: undefined });
    return claim.heldTenthsA;
  });
  const room = roomBeside(division, sharesTenthsA);
  const cars = [...declared.values()];
  const capacity = capacityAhead(division, declared, room, service);
  const { policy, now } = service;
  const order = orderOfService(policy, cars, capacity, now).flatMap(({ key }) => ofKey.get(key) ?? []);
  // A pause would end the charging of such a car, so no other precedes it.
  order.sort((a, b) => Number(b.claim.isKeptOn) - Number(a.claim.isKeptOn));
  serve(order, room);
  const unlockedW = [...allocation.unlockedW];
  const bindings = [...allocation.bindings];
  for (const { place, claim, tenthsA, binding } of order) {
    unlockedW[place] = Math.max(wattsOfTenths(tenthsA, claim.milliwattsPerTenth), claim.heldW);
    bindings[place] = binding;
  }
  return { unlockedW, bindings };
}

/**
 * Capacity of the declared cars. Under another limit the undeclared ones get more or less in proportion, and at most all
 * that they can use. Locks, uncontrolled connectors and circuit phases count as they are now.
 * @param room beside all others, with the declared cars at their reservations
 */
function capacityAhead(
  { allocation, unlocked }: EqualDivision,
  declared: ReadonlyMap<number, DeclaredCar>,
  room: Readonly<Room>,
  { limitW, limitsAhead }: Service,
): Capacity {
  const own = new Room(room.leftW, room.leftTenthsA);
  let [othersW, othersMostW] = [0, 0];
  for (const [place, { heldW, mostW, isResting, load }] of unlocked.entries()) {
    if (!declared.has(place)) {
      const shareW = Math.max(heldW, allocation.unlockedW[place] ?? 0);
      othersW += shareW;
      othersMostW += isResting ? shareW : Math.max(shareW, mostW);
    } else {
      own.leftW += heldW;
      if (load !== undefined) own.load(load.circuitPhases, -load.heldTenthsA);
    }
  }
  const sharedW = own.leftW + othersW;
  const powers = limitsAhead.map(({ limitKw, endsAtMs }) => {
    const aheadW = Math.max(0, sharedW + wattsOfLimit(limitKw) - limitW);
    const othersAheadW = sharedW > 0 ? Math.min(othersMostW, (othersW * aheadW) / sharedW) : 0;
    return { powerW: aheadW - othersAheadW, endsAtMs };
  });
  return { powers, roomTenthsA: own.leftTenthsA };
}

/** A remainder below this share of a minimum serves nobody: it is mostly a rounding. */
const LEAST_REMAINDER = 0.1;

/**
 * Each car gets all that it can use and the room has. The first one for which less than its minimum remains gets its
 * minimum from those before it, because a remainder would serve nobody. A car with its energy lowers no other.
 */
function serve(order: readonly InService[], room: Room): void {
  const served: InService[] = [];
  for (const each of order) {
    const { leastTenthsA } = each.claim;
    let { tenthsA, binding } = mostWithin(each.claim, room);
    const isRemainder = tenthsA < leastTenthsA && tenthsA >= leastTenthsA * LEAST_REMAINDER;
    if (isRemainder && !each.isServed) {
      makeRoomFor(each.claim, served, room);
      ({ tenthsA, binding } = mostWithin(each.claim, room));
    }
    each.binding = binding;
    if (tenthsA < leastTenthsA) continue;
    moveTo(each, tenthsA, room);
    served.push(each);
  }
}

/** The highest current of the claim that the room has, and the resource that allows no more. */
function mostWithin(
  { mostW, heldW, milliwattsPerTenth, load }: LimitClaim,
  { leftW, leftTenthsA }: Room,
): { readonly tenthsA: number; readonly binding: Binding | undefined } {
  let tenthsA = tenthsWithin(mostW, milliwattsPerTenth);
  let binding: Binding | undefined;
  const powerTenthsA = tenthsWithin(Math.max(0, heldW + leftW), milliwattsPerTenth);
  if (powerTenthsA < tenthsA) [tenthsA, binding] = [powerTenthsA, 'power'];
  for (const circuitPhase of load?.circuitPhases ?? []) {
    const onPhaseTenthsA = (load?.heldTenthsA ?? 0) + Math.max(0, leftTenthsA[circuitPhase] ?? 0);
    if (onPhaseTenthsA < tenthsA) [tenthsA, binding] = [onPhaseTenthsA, circuitPhase];
  }
  return { tenthsA, binding };
}

/** Lowers served cars, the last one first and none below its minimum, until the claim can have its minimum. */
function makeRoomFor(claim: LimitClaim, served: readonly InService[], room: Room): void {
  const before = served.map(({ tenthsA }) => tenthsA);
  for (const each of served.toReversed()) {
    const { tenthsA, binding } = mostWithin(claim, room);
    const missingTenthsA = claim.leastTenthsA - tenthsA;
    if (missingTenthsA <= 0) return;
    const { leastTenthsA, milliwattsPerTenth, load } = each.claim;
    const helps = binding === 'power' || load?.circuitPhases.some((circuitPhase) => circuitPhase === binding);
    if (helps !== true) continue;
    const missingW = wattsOfTenths(missingTenthsA, claim.milliwattsPerTenth) + 1;
    const neededTenthsA =
      binding === 'power' ? Math.ceil((missingW * 1000) / milliwattsPerTenth) : missingTenthsA;
    moveTo(each, Math.max(leastTenthsA, each.tenthsA - neededTenthsA), room);
  }
  if (mostWithin(claim, room).tenthsA >= claim.leastTenthsA) return;
  for (const [nth, each] of served.entries()) moveTo(each, before[nth] ?? each.tenthsA, room);
}

function moveTo(each: InService, tenthsA: number, room: Room): void {
  const { milliwattsPerTenth, heldW, load } = each.claim;
  const wattsAt = (atTenthsA: number) => Math.max(wattsOfTenths(atTenthsA, milliwattsPerTenth), heldW);
  room.leftW -= wattsAt(tenthsA) - wattsAt(each.tenthsA);
  if (load !== undefined) {
    const loadAt = (atTenthsA: number) => Math.max(atTenthsA, load.heldTenthsA);
    room.load(load.circuitPhases, loadAt(tenthsA) - loadAt(each.tenthsA));
  }
  each.tenthsA = tenthsA;
}

/** Remaining capacity beside the locked claims and the given shares of the unlocked ones. */
export function roomBeside(
  { allocation, locked, unlocked, room: { leftW, leftTenthsA } }: EqualDivision,
  sharesTenthsA: readonly number[],
): Room {
  const room = new Room(leftW, leftTenthsA);
  for (const [i, { load, milliwattsPerTenth }] of locked.entries()) {
    const shareW = allocation.lockedW[i] ?? 0;
    room.leftW -= shareW;
    if (load !== undefined)
      room.load(load.circuitPhases, Math.max(tenthsWithin(shareW, milliwattsPerTenth), load.heldTenthsA));
  }
  for (const [i, { load, milliwattsPerTenth, heldW }] of unlocked.entries()) {
    const shareTenthsA = sharesTenthsA[i] ?? 0;
    room.leftW -= Math.max(wattsOfTenths(shareTenthsA, milliwattsPerTenth), heldW);
    if (load !== undefined) room.load(load.circuitPhases, Math.max(shareTenthsA, load.heldTenthsA));
  }
  return room;
}
