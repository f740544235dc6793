// What connectors ask for, and what is left for them of each resource: of the watts of a location, and of the amperes of each pole.

/** What one connector asks for. Powers in whole W. */
export interface Claim {
  /** What it takes of the budget even at 0: its fail-safe. A claim is never given less. */
  readonly heldW: number;
  /** The least it can use: its 6 A floor, or `heldW` where that is more. */
  readonly floorW: number;
  /** The most it can use; at least `floorW`. */
  readonly mostW: number;
  /** It makes no use of what it is given: unlocked, it gets what all others leave once they have what they can use. */
  readonly isResting?: boolean;
  /** The fuses it hangs on; left out where there are none. */
  readonly load?: Load | undefined;
}

/** A connector as the fuses see it: each of its watts loads each of these poles. */
export interface Load {
  /** Places of poles. */
  readonly poles: readonly number[];
  /** Above 1000, so that a whole tenth of an ampere is not lost in rounding to whole watts and back. */
  readonly milliwattsPerTenth: number;
  /** What it loads them with even at 0, tenths of an ampere; at most what its floor does. */
  readonly heldTenthsA: number;
}

/** What stops somebody: the watts of the location, or the pole at that place. */
export type Binding = 'power' | number;

/** Of a claim that hangs on no fuse. */
export const NO_LOAD: Load = { poles: [], milliwattsPerTenth: Number.POSITIVE_INFINITY, heldTenthsA: 0 };
export const NO_CLAIM: Claim = { heldW: 0, floorW: 0, mostW: 0 };

/** What is left of each resource. Whole W and tenths of an ampere. */
export class Room {
  leftW: number;
  readonly leftTenthsA: number[];

  constructor(availableW: number, availableTenthsA: readonly number[]) {
    this.leftW = availableW;
    this.leftTenthsA = [...availableTenthsA];
  }

  /** What a claim that has `fromW` would lack for `toW`; undefined where it fits. */
  bindingOf(claim: Claim, fromW: number, toW: number): Binding | undefined {
    return toW - fromW > this.leftW ? 'power' : this.fullPoleFor(claim, fromW, toW);
  }

  /** The same of the fuses alone. */
  fullPoleFor({ load = NO_LOAD }: Claim, fromW: number, toW: number): number | undefined {
    const tenthsA = tenthsOf(load, toW) - tenthsOf(load, fromW);
    return tenthsA <= 0 ? undefined : load.poles.find((pole) => tenthsA > (this.leftTenthsA[pole] ?? 0));
  }

  /** What every claim has whatever it is given. */
  hold({ load = NO_LOAD, heldW }: Claim): void {
    this.leftW -= heldW;
    for (const pole of load.poles)
      this.leftTenthsA[pole] = (this.leftTenthsA[pole] ?? 0) - tenthsOf(load, heldW);
  }

  /** A claim that had `fromW` has `toW` from here on. */
  deduct({ load = NO_LOAD }: Claim, fromW: number, toW: number): void {
    this.leftW -= toW - fromW;
    const tenthsA = tenthsOf(load, toW) - tenthsOf(load, fromW);
    for (const pole of load.poles) this.leftTenthsA[pole] = (this.leftTenthsA[pole] ?? 0) - tenthsA;
  }

  /** The resources of which more is taken than there is. */
  overdrawn(): Set<Binding> {
    const overdrawn = new Set<Binding>(this.leftW < 0 ? ['power'] : []);
    for (const [pole, leftTenthsA] of this.leftTenthsA.entries()) if (leftTenthsA < 0) overdrawn.add(pole);
    return overdrawn;
  }
}

/** What it loads its poles with at `powerW`, whole tenths of an ampere: as it is told them. */
export function tenthsOf({ milliwattsPerTenth, heldTenthsA }: Load, powerW: number): number {
  return Math.max(Math.floor((powerW * 1000) / milliwattsPerTenth), heldTenthsA);
}
