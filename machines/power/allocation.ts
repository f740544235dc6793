// Divides a location's power: locked claims come first, unlocked claims share the rest max-min fairly. No share lies
// between 0 and 6 A.
import { type Binding, type Claim, type Load, NO_CLAIM, NO_LOAD, Room, tenthsOf } from './claims.js';

// Max-min fair shares under several resources at once: the location's watts and the amperes of each circuit phase.
interface Filled {
  /** Shares of the claims, in the order given. */
  readonly sharesW: readonly number[];
  /** The resource that limits each claim, in the same order; undefined for a claim that gets all it asks for. */
  readonly bindings: readonly (Binding | undefined)[];
  /** The lowest level at which a claim was limited; undefined if none was. */
  readonly levelW: number | undefined;
}

/**
 * Raises all claims together between floor and most. If a resource is full, the claims that load it stop (progressive
 * filling: Bertsekas and Gallager, Data Networks, section 6.5.2). So no share can grow without a reduction of one that
 * is no larger. `room` excludes the floors already; this function deducts the raises above them. Time: n log n, times
 * log(circuit phases) for each circuit phase that a claim loads.
 */
function fill(claims: readonly Claim[], room: Room): Filled {
  return doAllFit(claims, room) ? fillAll(claims, room) : fillToLevel(claims, room);
}

/** Watts are the only resource, and all claims fit. */
function doAllFit(claims: readonly Claim[], room: Room): boolean {
  if (room.leftTenthsA.length > 0) return false;
  let neededW = 0;
  for (const { floorW, mostW } of claims) neededW += mostW - floorW;
  return neededW <= room.leftW;
}

function fillAll(claims: readonly Claim[], room: Room): Filled {
  for (const claim of claims) room.deduct(claim, claim.floorW, claim.mostW);
  return {
    sharesW: claims.map(({ mostW }) => mostW),
    bindings: claims.map(() => undefined),
    levelW: undefined,
  };
}

function fillToLevel(claims: readonly Claim[], room: Room): Filled {
  const filling = new Filling(claims, room);
  filling.run();
  const sharesW = claims.map((claim, i) => filling.shareW(claim, i));
  for (const [i, claim] of claims.entries()) room.deduct(claim, claim.floorW, sharesW[i] ?? claim.floorW);
  const bindings = claims.map(({ mostW }, i) => (sharesW[i] === mostW ? undefined : filling.bindings[i]));
  return { sharesW, bindings, levelW: filling.lowestW };
}

/** Load of a rising claim beyond whole tenths of an ampere. */
function fractionOf(load: Load, powerW: number): number {
  return (powerW * 1000) / load.milliwattsPerTenth - tenthsOf(load, powerW);
}

/** A claim starts to rise or reaches its maximum. */
interface Point {
  readonly atW: number;
  readonly claim: number;
  readonly isStart: boolean;
}

/** Rounding errors below this are no overload: shares are whole watts, and currents are whole tenths. */
const ROUNDING_TENTHS = 1e-9;

/**
 * Level at which each circuit phase would be full if all claims continued to rise; gives the first one without a
 * search. A tournament tree: each node holds the smaller value of its two children.
 */
class FirstFull {
  readonly #leaves: number;
  readonly #nodes: Float64Array;

  constructor(circuitPhases: number) {
    this.#leaves = 2 ** Math.ceil(Math.log2(Math.max(circuitPhases, 1)));
    this.#nodes = new Float64Array(2 * this.#leaves).fill(Number.POSITIVE_INFINITY);
  }

  /** Level of the first full circuit phase; infinite if none fills up. */
  get atW(): number {
    return this.#nodes[1] ?? Number.POSITIVE_INFINITY;
  }

  /** Index of that circuit phase. */
  get circuitPhase(): number {
    let node = 1;
    while (node < this.#leaves) node = this.#at(2 * node) === this.#at(node) ? 2 * node : 2 * node + 1;
    return node - this.#leaves;
  }

  set(circuitPhase: number, atW: number): void {
    this.#nodes[this.#leaves + circuitPhase] = atW;
    for (let node = (this.#leaves + circuitPhase) >> 1; node >= 1; node >>= 1)
      this.#nodes[node] = Math.min(this.#at(2 * node), this.#at(2 * node + 1));
  }

  #at(node: number): number {
    return this.#nodes[node] ?? Number.POSITIVE_INFINITY;
  }
}

/** A circuit phase while claims on it rise. */
interface FillingCircuitPhase {
  /** Remaining capacity at level `sinceW`, tenths of an ampere. Rising claims are deducted at the next change. */
  leftTenthsA: number;
  sinceW: number;
  /** Capacity that each further watt of all rising claims takes, tenths of an ampere. */
  slope: number;
  /** Number of rising claims on it. A sum of added and removed slopes is not exactly 0. */
  rising: number;
  readonly claims: number[];
}

class Filling {
  readonly bindings: (Binding | undefined)[];
  lowestW: number | undefined;
  readonly #claims: readonly Claim[];
  readonly #rising = new Set<number>();
  /** Final share of each stopped claim, whole W; undefined for all others. */
  readonly #keptW: (number | undefined)[];
  #levelW = 0;
  #leftW: number;
  readonly #circuitPhases: readonly FillingCircuitPhase[];
  readonly #firstFullCircuitPhase: FirstFull;

  constructor(claims: readonly Claim[], room: Room) {
    this.#claims = claims;
    this.bindings = claims.map(() => undefined);
    this.#keptW = claims.map(() => undefined);
    this.#leftW = room.leftW;
    this.#circuitPhases = room.leftTenthsA.map((leftTenthsA) => ({
      leftTenthsA,
      sinceW: 0,
      slope: 0,
      rising: 0,
      claims: [],
    }));
    this.#firstFullCircuitPhase = new FirstFull(this.#circuitPhases.length);
    for (const [i, { load }] of claims.entries())
      for (const circuitPhase of load?.circuitPhases ?? []) this.#circuitPhases[circuitPhase]?.claims.push(i);
  }

  shareW({ mostW }: Claim, i: number): number {
    return this.#keptW[i] ?? mostW;
  }

  run(): void {
    const points: Point[] = [];
    for (const [claim, { floorW, mostW }] of this.#claims.entries()) {
      points.push({ atW: floorW, claim, isStart: true }, { atW: mostW, claim, isStart: false });
    }
    points.sort((a, b) => a.atW - b.atW);
    for (const point of points) {
      for (let full = this.#firstFull(point.atW); full !== undefined; full = this.#firstFull(point.atW)) {
        this.#advance(full.atW);
        this.#keepBack(full.binding);
        if (full.binding === 'power') {
          this.#keepTheRest(point, points);
          return;
        }
      }
      this.#advance(point.atW);
      if (point.isStart) this.#start(point.claim);
      else if (this.#rising.has(point.claim)) this.#reachMost(point.claim);
    }
  }

  /** The first resource that is full before all rising claims reach `atW`. */
  #firstFull(atW: number): { readonly binding: Binding; readonly atW: number } | undefined {
    const rising = this.#rising.size;
    const isPowerFull = rising > 0 && rising * (atW - this.#levelW) > this.#leftW;
    const powerAtW = isPowerFull ? this.#levelW + Math.max(0, this.#leftW / rising) : undefined;
    if (this.#firstFullCircuitPhase.atW < atW) {
      const binding = this.#firstFullCircuitPhase.circuitPhase;
      const { leftTenthsA = 0, sinceW = 0, slope = 1 } = this.#circuitPhases[binding] ?? {};
      const poleAtW = Math.max(this.#levelW, sinceW + leftTenthsA / slope);
      if (powerAtW === undefined || poleAtW < powerAtW) return { binding, atW: poleAtW };
    }
    return powerAtW === undefined ? undefined : { binding: 'power', atW: powerAtW };
  }

  #advance(toW: number): void {
    const risesW = toW - this.#levelW;
    if (risesW <= 0) return;
    this.#leftW -= this.#rising.size * risesW;
    this.#levelW = toW;
  }

  /**
   * A rising claim counts with fractions of a tenth. At its floor and most it counts with whole tenths, as in the
   * grant.
   */
  #start(i: number): void {
    const { load = NO_LOAD, floorW } = this.#claims[i] ?? NO_CLAIM;
    this.#rising.add(i);
    this.#weigh(load, 1, -fractionOf(load, floorW));
  }

  #reachMost(i: number): void {
    const { load = NO_LOAD, mostW } = this.#claims[i] ?? NO_CLAIM;
    this.#rising.delete(i);
    this.#weigh(load, -1, fractionOf(load, mostW));
  }

  /** Adds or removes a rising claim, and changes the remaining capacity of each circuit phase, tenths of an ampere. */
  #weigh({ circuitPhases, milliwattsPerTenth }: Load, sign: 1 | -1, moreTenthsA: number): void {
    for (const place of circuitPhases) {
      const circuitPhase = this.#circuitPhases[place];
      if (circuitPhase === undefined) continue;
      if (circuitPhase.rising > 0)
        circuitPhase.leftTenthsA -= (this.#levelW - circuitPhase.sinceW) * circuitPhase.slope;
      circuitPhase.sinceW = this.#levelW;
      circuitPhase.leftTenthsA += moreTenthsA;
      circuitPhase.slope += (sign * 1000) / milliwattsPerTenth;
      circuitPhase.rising += sign;
      const isRising = circuitPhase.rising > 0;
      const risesW = (circuitPhase.leftTenthsA + ROUNDING_TENTHS) / circuitPhase.slope;
      this.#firstFullCircuitPhase.set(place, isRising ? this.#levelW + risesW : Number.POSITIVE_INFINITY);
    }
  }

  /** Stops the rising claims that load the resource. */
  #keepBack(binding: Binding): void {
    const levelW = Math.floor(this.#levelW);
    this.lowestW ??= levelW;
    for (const i of binding === 'power' ? [...this.#rising] : (this.#circuitPhases[binding]?.claims ?? [])) {
      if (!this.#rising.delete(i)) continue;
      const { load = NO_LOAD, floorW } = this.#claims[i] ?? NO_CLAIM;
      this.#weigh(load, -1, 0);
      this.#keptW[i] = Math.max(levelW, floorW);
      this.bindings[i] = binding;
    }
  }

  /** Power is full: claims that have not started stay at their floors. */
  #keepTheRest(from: Point, points: readonly Point[]): void {
    for (let i = points.indexOf(from); i < points.length; i++) {
      const point = points[i];
      const claim = point === undefined ? undefined : this.#claims[point.claim];
      if (point?.isStart !== true || claim === undefined || claim.floorW === claim.mostW) continue;
      this.#keptW[point.claim] = claim.floorW;
      this.bindings[point.claim] = 'power';
    }
  }
}

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
  for (const claim of locked) room.hold(claim);
  for (const claim of unlocked) room.hold(claim);
  const forLocked = shareAmongLocked(locked, room);
  const { short } = forLocked;
  const yields = unlocked.map((claim) => (short.size === 0 ? 'nothing' : yieldOf(claim, short)));
  const forUnlocked = shareAmongUnlocked(unlocked, yields, room);
  // Each field by itself: a spread takes longer than the division of a small site.
  return {
    unlockedW: forUnlocked.unlockedW,
    levelW: forUnlocked.levelW,
    lockedW: forLocked.sharesW,
    lockedBindings: forLocked.bindings,
    bindings:
      short.size === 0
        ? forUnlocked.bindings
        : forUnlocked.bindings.map((binding, i) =>
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
  const awake: number[] = [];
  const resting: number[] = [];
  for (const [i, { isResting }] of claims.entries())
    if (yields[i] !== 'paused') (isResting === true ? resting : awake).push(i);
  const levelW = shareAmong(asking, awake, room, shares);
  const lastLevelW = shareAmong(asking, resting, room, shares);
  const { unlockedW, bindings } = shares;
  return { unlockedW, bindings, levelW: levelW ?? lastLevelW };
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
  const chosen: Claim[] = [];
  for (const i of places) {
    const claim = claims[i] ?? NO_CLAIM;
    // A claim that does not fit leaves the remainder to later claims. It keeps its place in the order for the next
    // decision.
    const binding = room.bindingOf(claim, claim.heldW, claim.floorW);
    shares.bindings[i] = binding;
    if (binding !== undefined) continue;
    room.deduct(claim, claim.heldW, claim.floorW);
    running.push(i);
    chosen.push(claim);
  }
  const filled = fill(chosen, room);
  for (const [nth, i] of running.entries()) {
    shares.unlockedW[i] = filled.sharesW[nth] ?? 0;
    shares.bindings[i] = filled.bindings[nth];
  }
  return filled.levelW;
}
