// Claims of connectors, and the remaining capacity of each resource: the location's watts and the amperes of each
// circuit phase.

/** Power claim of one connector, whole W. */
export interface Claim {
  /** The reservation at limit 0: the connector's fail-safe. A claim never gets less. */
  readonly heldW: number;
  /** The least usable power: the 6 A floor, or `heldW` if that is more. */
  readonly floorW: number;
  /** The greatest usable power; at least `floorW`. */
  readonly mostW: number;
  /**
   * The car does not use its share. An unlocked resting claim gets only the remainder after all other claims are
   * satisfied.
   */
  readonly isResting?: boolean;
  /** Load on fuses; omitted if the connector has no known fuse. */
  readonly load?: Load | undefined;
}

/** Load of a connector on fuses: each watt loads each of these circuit phases. */
export interface Load {
  /** Indices of circuit phases. */
  readonly circuitPhases: readonly number[];
  /** Above 1000, so that rounding to whole watts and back never loses a tenth of an ampere. */
  readonly milliwattsPerTenth: number;
  /** Load at limit 0, tenths of an ampere; at most the load of the floor. */
  readonly heldTenthsA: number;
}

/** The resource that limits a claim: the location's watts, or the circuit phase with this index. */
export type Binding = 'power' | number;

/** Load of a claim without fuses. */
export const NO_LOAD: Load = {
  circuitPhases: [],
  milliwattsPerTenth: Number.POSITIVE_INFINITY,
  heldTenthsA: 0,
};
export const NO_CLAIM: Claim = { heldW: 0, floorW: 0, mostW: 0 };

/** Remaining capacity of each resource, whole W and tenths of an ampere. */
export class Room {
  leftW: number;
  readonly leftTenthsA: number[];

  constructor(availableW: number, availableTenthsA: readonly number[]) {
    this.leftW = availableW;
    this.leftTenthsA = [...availableTenthsA];
  }

  /** The resource that is too small to raise a claim from `fromW` to `toW`; undefined if the raise fits. */
  bindingOf(claim: Claim, fromW: number, toW: number): Binding | undefined {
    return toW - fromW > this.leftW ? 'power' : this.fullCircuitPhaseFor(claim, fromW, toW);
  }

  /** The same for circuit phases only. */
  fullCircuitPhaseFor({ load = NO_LOAD }: Claim, fromW: number, toW: number): number | undefined {
    const tenthsA = tenthsOf(load, toW) - tenthsOf(load, fromW);
    return tenthsA <= 0
      ? undefined
      : load.circuitPhases.find((circuitPhase) => tenthsA > (this.leftTenthsA[circuitPhase] ?? 0));
  }

  /** Deducts the reservation that a claim keeps at any share. */
  hold({ load = NO_LOAD, heldW }: Claim): void {
    this.leftW -= heldW;
    if (load.circuitPhases.length > 0) this.load(load.circuitPhases, tenthsOf(load, heldW));
  }

  /** Deducts a load from each of these circuit phases. */
  load(circuitPhases: readonly number[], tenthsA: number): void {
    for (const circuitPhase of circuitPhases)
      this.leftTenthsA[circuitPhase] = (this.leftTenthsA[circuitPhase] ?? 0) - tenthsA;
  }

  /** Deducts the raise of a claim from `fromW` to `toW`. */
  deduct({ load = NO_LOAD }: Claim, fromW: number, toW: number): void {
    this.leftW -= toW - fromW;
    if (load.circuitPhases.length > 0)
      this.load(load.circuitPhases, tenthsOf(load, toW) - tenthsOf(load, fromW));
  }

  /** The resources whose remaining capacity is negative. */
  overdrawn(): Set<Binding> {
    const overdrawn = new Set<Binding>(this.leftW < 0 ? ['power'] : []);
    for (const [circuitPhase, leftTenthsA] of this.leftTenthsA.entries())
      if (leftTenthsA < 0) overdrawn.add(circuitPhase);
    return overdrawn;
  }
}

/** Load on each circuit phase at `powerW`, rounded to whole tenths of an ampere as in the grant. */
export function tenthsOf({ milliwattsPerTenth, heldTenthsA }: Load, powerW: number): number {
  return Math.max(Math.floor((powerW * 1000) / milliwattsPerTenth), heldTenthsA);
}
