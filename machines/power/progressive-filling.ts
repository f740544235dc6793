// Max-min fair shares under several resources at once: the watts of a location, and the amperes of each pole of its fuses.
import { type Binding, type Claim, type Load, NO_CLAIM, NO_LOAD, type Room, tenthsOf } from './claims.js';

export interface Filled {
  /** Of each claim, in the order given. */
  readonly sharesW: readonly number[];
  /** What keeps each from more, in the same order; undefined where it has all it asked for. */
  readonly bindings: readonly (Binding | undefined)[];
  /** The lowest level at which somebody was kept from more; undefined where nobody was. */
  readonly levelW: number | undefined;
}

/**
 * Everybody at the highest level, between floor and most, that the resources which it loads allow: all rise together, and
 * where a resource is full those that load it stay behind (progressive filling: Bertsekas and Gallager, Data Networks,
 * section 6.5.2). So nobody's share can grow without making smaller one that is no larger. The floors of the claims are
 * taken out of `room` already; what they get above those is taken here. n log n, times the logarithm of the poles for each
 * that a claim loads.
 */
export function fill(claims: readonly Claim[], room: Room): Filled {
  return doAllFit(claims, room) ? fillAll(claims, room) : fillToLevel(claims, room);
}

/** Whether everybody can have all it asks for, where watts are all that there is to share. */
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

/** What a claim loads its poles with beyond whole tenths while it rises. */
function fractionOf(load: Load, powerW: number): number {
  return (powerW * 1000) / load.milliwattsPerTenth - tenthsOf(load, powerW);
}

/** A claim begins to rise, or has all it asked for. */
interface Point {
  readonly atW: number;
  readonly claim: number;
  readonly isStart: boolean;
}

/** Of what is computed in fractions a billionth is no overload: shares are whole watts, currents whole tenths. */
const ROUNDING_TENTHS = 1e-9;

/**
 * When each pole is full if everybody goes on rising: the first of them without looking at the others. A tournament: each
 * node has the lesser of the two below it.
 */
class FirstFull {
  readonly #leaves: number;
  readonly #nodes: Float64Array;

  constructor(poles: number) {
    this.#leaves = 2 ** Math.ceil(Math.log2(Math.max(poles, 1)));
    this.#nodes = new Float64Array(2 * this.#leaves).fill(Number.POSITIVE_INFINITY);
  }

  /** The level at which the first is full; infinite where none will be. */
  get atW(): number {
    return this.#nodes[1] ?? Number.POSITIVE_INFINITY;
  }

  /** Which one that is. */
  get pole(): number {
    let node = 1;
    while (node < this.#leaves) node = this.#at(2 * node) === this.#at(node) ? 2 * node : 2 * node + 1;
    return node - this.#leaves;
  }

  set(pole: number, atW: number): void {
    this.#nodes[this.#leaves + pole] = atW;
    for (let node = (this.#leaves + pole) >> 1; node >= 1; node >>= 1)
      this.#nodes[node] = Math.min(this.#at(2 * node), this.#at(2 * node + 1));
  }

  #at(node: number): number {
    return this.#nodes[node] ?? Number.POSITIVE_INFINITY;
  }
}

/** A pole while claims that load it rise. */
interface FillingPole {
  /** What was left at the level `sinceW`, tenths of an ampere: what rises takes is deducted when something changes. */
  leftTenthsA: number;
  sinceW: number;
  /** What a watt more for everybody who rises takes of it, tenths of an ampere. */
  slope: number;
  /** How many of those that rise load it: a sum of slopes that came and went is not quite 0. */
  rising: number;
  readonly claims: number[];
}

class Filling {
  readonly bindings: (Binding | undefined)[];
  lowestW: number | undefined;
  readonly #claims: readonly Claim[];
  readonly #rising = new Set<number>();
  /** Where claims were kept back: whole W. */
  readonly #keptW = new Map<number, number>();
  #levelW = 0;
  #leftW: number;
  readonly #poles: readonly FillingPole[];
  readonly #firstFullPole: FirstFull;

  constructor(claims: readonly Claim[], room: Room) {
    this.#claims = claims;
    this.bindings = claims.map(() => undefined);
    this.#leftW = room.leftW;
    this.#poles = room.leftTenthsA.map((leftTenthsA) => ({
      leftTenthsA,
      sinceW: 0,
      slope: 0,
      rising: 0,
      claims: [],
    }));
    this.#firstFullPole = new FirstFull(this.#poles.length);
    for (const [i, { load }] of claims.entries())
      for (const pole of load?.poles ?? []) this.#poles[pole]?.claims.push(i);
  }

  shareW({ mostW }: Claim, i: number): number {
    return this.#keptW.get(i) ?? mostW;
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

  /** The first resource that is full before everybody who rises is at `atW`. */
  #firstFull(atW: number): { readonly binding: Binding; readonly atW: number } | undefined {
    const rising = this.#rising.size;
    const isPowerFull = rising > 0 && rising * (atW - this.#levelW) > this.#leftW;
    const powerAtW = isPowerFull ? this.#levelW + Math.max(0, this.#leftW / rising) : undefined;
    if (this.#firstFullPole.atW < atW) {
      const binding = this.#firstFullPole.pole;
      const { leftTenthsA = 0, sinceW = 0, slope = 1 } = this.#poles[binding] ?? {};
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

  /** While it rises, a claim counts with fractions of a tenth; at its floor and its most with whole ones, as it is told them. */
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

  /** One more, or one less, that rises, and what that leaves of each pole, tenths of an ampere. */
  #weigh({ poles, milliwattsPerTenth }: Load, sign: 1 | -1, moreTenthsA: number): void {
    for (const place of poles) {
      const pole = this.#poles[place];
      if (pole === undefined) continue;
      if (pole.rising > 0) pole.leftTenthsA -= (this.#levelW - pole.sinceW) * pole.slope;
      pole.sinceW = this.#levelW;
      pole.leftTenthsA += moreTenthsA;
      pole.slope += (sign * 1000) / milliwattsPerTenth;
      pole.rising += sign;
      const isRising = pole.rising > 0;
      const risesW = (pole.leftTenthsA + ROUNDING_TENTHS) / pole.slope;
      this.#firstFullPole.set(place, isRising ? this.#levelW + risesW : Number.POSITIVE_INFINITY);
    }
  }

  /** Those that rise and load the resource stay where they are. */
  #keepBack(binding: Binding): void {
    const levelW = Math.floor(this.#levelW);
    this.lowestW ??= levelW;
    for (const i of binding === 'power' ? [...this.#rising] : (this.#poles[binding]?.claims ?? [])) {
      if (!this.#rising.delete(i)) continue;
      const { load = NO_LOAD, floorW } = this.#claims[i] ?? NO_CLAIM;
      this.#weigh(load, -1, 0);
      this.#keptW.set(i, Math.max(levelW, floorW));
      this.bindings[i] = binding;
    }
  }

  /** Nobody rises any more: those that have not begun to stay at their floors. */
  #keepTheRest(from: Point, points: readonly Point[]): void {
    for (let i = points.indexOf(from); i < points.length; i++) {
      const point = points[i];
      const claim = point === undefined ? undefined : this.#claims[point.claim];
      if (point?.isStart !== true || claim === undefined || claim.floorW === claim.mostW) continue;
      this.#keptW.set(point.claim, claim.floorW);
      this.bindings[point.claim] = 'power';
    }
  }
}
