// Divides a location's power: locked claims come first, unlocked claims share the rest max-min fairly. No share lies
// between 0 and 6 A.
import { type Binding, type Claim, NO_CLAIM, NO_LOAD, Room, tenthsOf } from './claims.js';
import { fill } from './progressive-filling.js';

export interface Allocation {
  /** Shares of the locked claims, in the order given. */
  readonly lockedW: readonly number[];
  /** Shares of the unlocked claims, in the order given; `heldW` for a paused claim. */
  readonly unlockedW: readonly number[];
  /**
   * The resource that limits each unlocked claim, in the same order; undefined for a claim that gets all it asks for.
   */
  readonly bindings: readonly (Binding | undefined)[];
  /** The resource that limits each locked claim. */
  readonly lockedBindings: readonly (Binding | undefined)[];
  /** The effect on each unlocked claim of a shortage among the locked ones, in the same order. */
  readonly yields: readonly Yield[];
  /**
   * The level below which every unlocked claim gets all it asks for; undefined if no claim gets less. Resting claims
   * share at their own level. That level appears here only if all other claims get all they ask for.
   */
  readonly levelW: number | undefined;
  /** Locked claims get less than they ask for. */
  readonly isLastResort: boolean;
  /** The locked claims that get less, in the order given; all of them if power is short. */
  readonly lastResort: readonly boolean[];
  /**
   * The floors of the locked claims and the other reservations do not fit together. If power is short, locked claims
   * get their floors all the same. A fuse is never overloaded: a claim whose floor does not fit its fuse gets only its
   * reservation.
   */
  readonly isUnattainable: boolean;
}

/**
 * `paused`: the claim gets only its reservation, which is less than it can use. `floor`: the claim gets its floor and
 * no more, because a pause would free nothing that locked claims lack. `nothing`: the claim shares the available power.
 */
export type Yield = 'nothing' | 'floor' | 'paused';

/**
 * Divides `availableW` and the capacity of each circuit phase (power-safety.md, "Who gets how much"). `heldW` of every
 * claim is part of the available power.
 * 1. Locked claims get their floors, then up to their requests.
 * 2. Unlocked claims share the rest max-min fairly between floor and most. If not all floors fit, the first claims in
 *    the order given get theirs, and the others are paused. Resting claims then share the remainder in the same way.
 * 3. Locked claims get less than their requests only after all unlocked claims on the short resource have yielded. Each
 *    of those is paused, or at a floor that stays reserved in any case. Locked claims then share max-min fairly, never
 *    below their floors.
 */
export function allocate(
  availableW: number,
  locked: readonly Claim[],
  unlocked: readonly Claim[],
  availableTenthsA: readonly number[] = [],
): Allocation {
  const room = new Room(availableW, availableTenthsA);
  for (const claim of [...locked, ...unlocked]) room.hold(claim);
  const forLocked = shareAmongLocked(locked, room);
  const { short } = forLocked;
  const yields = unlocked.map((claim) => yieldOf(claim, short));
  const forUnlocked = shareAmongUnlocked(unlocked, yields, room);
  return {
    ...forUnlocked,
    lockedW: forLocked.sharesW,
    lockedBindings: forLocked.bindings,
    bindings: forUnlocked.bindings.map((binding, i) =>
      yields[i] === 'nothing' ? binding : shortOf(unlocked[i] ?? NO_CLAIM, short),
    ),
    yields,
    isLastResort: forLocked.isShort,
    lastResort: locked.map(
      ({ mostW }, i) => forLocked.isShort && (short.has('power') || (forLocked.sharesW[i] ?? 0) < mostW),
    ),
    isUnattainable: forLocked.isUnattainable,
  };
}

/** The first short resource that the claim loads; undefined if it loads none. */
function shortOf({ load }: Claim, short: ReadonlySet<Binding>): Binding | undefined {
  return short.has('power') ? 'power' : load?.circuitPhases.find((circuitPhase) => short.has(circuitPhase));
}

function yieldOf(claim: Claim, short: ReadonlySet<Binding>): Yield {
  const lacked = shortOf(claim, short);
  if (lacked === undefined) return 'nothing';
  const { load = NO_LOAD, heldW, floorW } = claim;
  const isMoreOnCircuitPhase = tenthsOf(load, floorW) > tenthsOf(load, heldW);
  const isFreedByPause =
    (short.has('power') && floorW > heldW) ||
    (isMoreOnCircuitPhase && load.circuitPhases.some((circuitPhase) => short.has(circuitPhase)));
  return isFreedByPause ? 'paused' : 'floor';
}

interface ForLocked {
  readonly sharesW: readonly number[];
  readonly bindings: readonly (Binding | undefined)[];
  /** The resources that the locked claims or the reservations exceed. */
  readonly short: ReadonlySet<Binding>;
  readonly isShort: boolean;
  readonly isUnattainable: boolean;
}

function shareAmongLocked(claims: readonly Claim[], room: Room): ForLocked {
  const sharesW = claims.map(({ heldW }) => heldW);
  const bindings: (Binding | undefined)[] = claims.map(() => undefined);
  const blocked = new Set<Binding>();
  const running: number[] = [];
  for (const [i, claim] of claims.entries()) {
    const circuitPhase = room.fullCircuitPhaseFor(claim, claim.heldW, claim.floorW);
    if (circuitPhase !== undefined) {
      blocked.add(circuitPhase);
      bindings[i] = circuitPhase;
      continue;
    }
    room.deduct(claim, claim.heldW, claim.floorW);
    running.push(i);
  }
  const overdrawn = room.overdrawn();
  const chosen = running.flatMap((i) => claims[i] ?? []);
  const filled = fill(chosen, room);
  for (const [nth, i] of running.entries()) {
    sharesW[i] = filled.sharesW[nth] ?? 0;
    bindings[i] = filled.bindings[nth];
  }
  const short = new Set([...overdrawn, ...bindings.filter((binding) => binding !== undefined)]);
  return {
    sharesW,
    bindings,
    short,
    isShort: claims.length > 0 && short.size > 0,
    isUnattainable: blocked.size > 0 || overdrawn.size > 0,
  };
}

function shareAmongUnlocked(
  claims: readonly Claim[],
  yields: readonly Yield[],
  room: Room,
): Pick<Allocation, 'unlockedW' | 'bindings' | 'levelW'> {
  const shares: Shares = {
    unlockedW: claims.map(({ heldW }) => heldW),
    bindings: claims.map(() => undefined),
  };
  const asking = claims.map((claim, i) =>
    yields[i] === 'floor' ? { ...claim, mostW: claim.floorW } : claim,
  );
  const places = [...claims.keys()].filter((i) => yields[i] !== 'paused');
  const awake = places.filter((i) => claims[i]?.isResting !== true);
  const levelW = shareAmong(asking, awake, room, shares);
  const resting = places.filter((i) => claims[i]?.isResting === true);
  const lastLevelW = shareAmong(asking, resting, room, shares);
  return { ...shares, levelW: levelW ?? lastLevelW };
}

interface Shares {
  readonly unlockedW: number[];
  readonly bindings: (Binding | undefined)[];
}

/**
 * Grants floors in the order of `places` as far as they fit. Claims with a floor then get fair shares, written to
 * `shares`.
 */
function shareAmong(
  claims: readonly Claim[],
  places: readonly number[],
  room: Room,
  shares: Shares,
): number | undefined {
  const running: number[] = [];
  for (const i of places) {
    const claim = claims[i] ?? NO_CLAIM;
    // A claim that does not fit leaves the remainder to later claims. It keeps its place in the order for the next
    // decision.
    const binding = room.bindingOf(claim, claim.heldW, claim.floorW);
    shares.bindings[i] = binding;
    if (binding !== undefined) continue;
    room.deduct(claim, claim.heldW, claim.floorW);
    running.push(i);
  }
  const filled = fill(
    running.flatMap((i) => claims[i] ?? []),
    room,
  );
  for (const [nth, i] of running.entries()) {
    shares.unlockedW[i] = filled.sharesW[nth] ?? 0;
    shares.bindings[i] = filled.bindings[nth];
  }
  return filled.levelW;
}
