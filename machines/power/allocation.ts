// Who gets how much of a location's power: locked connectors first, the rest max-min fairly, nobody between 0 and 6 A.
import { type Binding, type Claim, NO_CLAIM, NO_LOAD, Room, tenthsOf } from './claims.js';
import { fill } from './progressive-filling.js';

export interface Allocation {
  /** Of each locked claim, in the order given. */
  readonly lockedW: readonly number[];
  /** Of each unlocked claim, in the order given; `heldW` where it is paused. */
  readonly unlockedW: readonly number[];
  /** What keeps each unlocked claim from more, in the same order; undefined where it has all it asked for. */
  readonly bindings: readonly (Binding | undefined)[];
  /** The same of each locked claim. */
  readonly lockedBindings: readonly (Binding | undefined)[];
  /** What becomes of each unlocked claim because locked ones get less than they ask for of what it loads, in the same order. */
  readonly yields: readonly Yield[];
  /**
   * Whether unlocked claims had to share: the level below which everybody has what it asked for; undefined where all have.
   * Those that rest share at a level of their own, which is told where the others have all they asked for.
   */
  readonly levelW: number | undefined;
  /** Locked claims got less than they asked for. */
  readonly isLastResort: boolean;
  /** Which of them: all, where it is power that they lack. In the order given. */
  readonly lastResort: readonly boolean[];
  /**
   * Not even the floors of the locked claims and what the others hold fit. Of power they have them all the same; a fuse
   * is not overloaded for them: those whose floors it does not carry have no more than is held for them.
   */
  readonly isUnattainable: boolean;
}

/**
 * `paused`: it gets no more than is held for it, which is less than it can use. `floor`: its floor, since a pause would free nothing
 * that locked claims lack; and no more than that. `nothing`: it shares what there is.
 */
export type Yield = 'nothing' | 'floor' | 'paused';

/**
 * Divides `availableW` and what each pole can carry (power-safety: "who gets how much"). `heldW` of every claim is part
 * of what is available.
 * 1. Locked claims: their floors, then up to what they ask for.
 * 2. Unlocked claims share the rest max-min fairly between floor and most; where not all floors fit, those first in the
 *    order given get theirs, and the others are paused. Claims that rest share likewise what is left after that.
 * 3. Locked claims get less than they ask for only when every unlocked one that loads what they lack is paused, or at a floor that
 *    is held for it whatever it gets; then max-min fairly, never below their floors.
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

/** Which of what locked claims lack a claim would load. */
function shortOf({ load }: Claim, short: ReadonlySet<Binding>): Binding | undefined {
  return short.has('power') ? 'power' : load?.poles.find((pole) => short.has(pole));
}

function yieldOf(claim: Claim, short: ReadonlySet<Binding>): Yield {
  const lacked = shortOf(claim, short);
  if (lacked === undefined) return 'nothing';
  const { load = NO_LOAD, heldW, floorW } = claim;
  const isMoreOnPole = tenthsOf(load, floorW) > tenthsOf(load, heldW);
  const isFreedByPause =
    (short.has('power') && floorW > heldW) || (isMoreOnPole && load.poles.some((pole) => short.has(pole)));
  return isFreedByPause ? 'paused' : 'floor';
}

interface ForLocked {
  readonly sharesW: readonly number[];
  readonly bindings: readonly (Binding | undefined)[];
  /** The resources of which locked claims, or what is held, would need more than there is. */
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
    const pole = room.fullPoleFor(claim, claim.heldW, claim.floorW);
    if (pole !== undefined) {
      blocked.add(pole);
      bindings[i] = pole;
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

/** Floors in the order of `places` as far as they fit, then fair shares among those that have one, into `shares`. */
function shareAmong(
  claims: readonly Claim[],
  places: readonly number[],
  room: Room,
  shares: Shares,
): number | undefined {
  const running: number[] = [];
  for (const i of places) {
    const claim = claims[i] ?? NO_CLAIM;
    // One that asks for more than is left leaves it to those behind it: its turn comes first again once more is left.
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
