// Checks the physical current through each phase of each fuse of a world: at no instant above its rating (P1).
import type { EpochMs } from '../../machines/values/time.js';
import type { TenantEntry } from '../../src/provisioning/provisioning-schema.js';
import type { Violation } from './power-watch.js';
import { type CircuitPhaseName, capacitiesOf, circuitPhasesAbove, wiredTo } from './site-fuses.js';

/** Allows for rounding in sums of floating-point currents. */
const TOLERANCE_A = 0.001;

interface DrawingOutlet {
  readonly spec: { readonly connectorId: string };
  /** In A, for each of its own phases, in their order. */
  physicalCurrentA(): readonly number[];
}

export interface DrawingCharger {
  readonly address: { readonly locationId: string; readonly controllerUuid: string };
  readonly outlets: readonly DrawingOutlet[];
}

/** Load of one phase of a fuse over the run. Currents are in A. */
export interface FuseLoad {
  readonly locationId: string;
  /** For example `L2 of the connection`. */
  readonly name: CircuitPhaseName;
  readonly carriesA: number;
  /** Highest current so far. */
  readonly mostA: number;
  /** Current above the rating, integrated over time, A·s. */
  readonly overAs: number;
}

interface CircuitPhase {
  readonly name: CircuitPhaseName;
  readonly capacityA: number;
  flowsA: number;
  mostA: number;
  atMs: EpochMs;
  /** Current above the rating, integrated over time, A·s. */
  overAs: number;
  isOver: boolean;
}

export class FuseWatch {
  /** By location; only locations with fuses. */
  readonly #circuitPhases = new Map<string, ReadonlyMap<CircuitPhaseName, CircuitPhase>>();
  /** By charger and connector: the circuit phases above each of its own phases. */
  readonly #above = new Map<string, readonly (readonly CircuitPhase[])[]>();
  readonly #flows = new Map<string, readonly number[]>();
  readonly #refresh: (locationId: string) => void;
  readonly #onViolation: (violation: Violation) => void;

  /** @param options.refresh advances the location's chargers to the present, and reports their draw by `note` */
  constructor(options: {
    readonly tenants: readonly TenantEntry[];
    readonly refresh: (locationId: string) => void;
    readonly onViolation: (violation: Violation) => void;
  }) {
    this.#refresh = options.refresh;
    this.#onViolation = options.onViolation;
    for (const { locations } of options.tenants) for (const location of locations) this.#add(location);
  }

  /** One entry for each phase of each fuse, since the beginning. */
  get loads(): readonly FuseLoad[] {
    return [...this.#circuitPhases].flatMap(([locationId, circuitPhases]) =>
      [...circuitPhases.values()].map(({ name, capacityA: carriesA, mostA, overAs }) => {
        return { locationId, name, carriesA, mostA: rounded(mostA), overAs: rounded(overAs) };
      }),
    );
  }

  /** The charger's current may have changed. */
  note({ address, outlets }: DrawingCharger, atMs: EpochMs): void {
    const { locationId, controllerUuid } = address;
    if (!this.#circuitPhases.has(locationId)) return;
    for (const outlet of outlets) this.#noteOutlet(keyOf(controllerUuid, outlet.spec), outlet, atMs);
  }

  /** Compares the currents with the ratings. Only chargers that `refresh` has advanced can cause a violation. */
  check(locationId: string, atMs: EpochMs): void {
    const circuitPhases = this.#circuitPhases.get(locationId);
    if (circuitPhases === undefined) return;
    const isAnyOver = () => [...circuitPhases.values()].some(isOver);
    if (isAnyOver()) this.#refresh(locationId);
    for (const circuitPhase of circuitPhases.values()) {
      if (isOver(circuitPhase) && !circuitPhase.isOver) {
        const detail = `${circuitPhase.flowsA.toFixed(2)} A flow through phase ${circuitPhase.name}, whose fuse carries ${circuitPhase.capacityA} A`;
        this.#onViolation({ atMs, invariant: 'P1', target: locationId, detail });
      }
      circuitPhase.isOver = isOver(circuitPhase);
      circuitPhase.mostA = Math.max(circuitPhase.mostA, circuitPhase.flowsA);
    }
  }

  #add(location: TenantEntry['locations'][number]): void {
    const capacities = capacitiesOf(location);
    if (capacities.size === 0) return;
    const circuitPhases = new Map<CircuitPhaseName, CircuitPhase>();
    for (const [name, capacityA] of capacities)
      circuitPhases.set(name, { name, capacityA, flowsA: 0, mostA: 0, atMs: 0, overAs: 0, isOver: false });
    this.#circuitPhases.set(location.locationId, circuitPhases);
    for (const charger of location.chargers) {
      for (const connector of charger.connectors) {
        const above = wiredTo(charger, connector).map((place) =>
          circuitPhasesAbove(location, charger, place).flatMap((name) => circuitPhases.get(name) ?? []),
        );
        this.#above.set(keyOf(charger.controllerUuid, connector), above);
      }
    }
  }

  #noteOutlet(key: string, outlet: DrawingOutlet, atMs: EpochMs): void {
    const flowsA = outlet.physicalCurrentA();
    const before = this.#flows.get(key);
    for (const [own, circuitPhases] of (this.#above.get(key) ?? []).entries()) {
      const moreA = (flowsA[own] ?? 0) - (before?.[own] ?? 0);
      if (moreA !== 0) for (const circuitPhase of circuitPhases) change(circuitPhase, moreA, atMs);
    }
    this.#flows.set(key, flowsA);
  }
}

function change(circuitPhase: CircuitPhase, moreA: number, atMs: EpochMs): void {
  const overA = circuitPhase.flowsA - circuitPhase.capacityA;
  if (overA > TOLERANCE_A) circuitPhase.overAs += (overA * Math.max(0, atMs - circuitPhase.atMs)) / 1000;
  circuitPhase.flowsA += moreA;
  circuitPhase.atMs = atMs;
}

function rounded(value: number): number {
  return Math.round(1000 * value) / 1000;
}

function isOver({ flowsA, capacityA }: CircuitPhase): boolean {
  return flowsA > capacityA + TOLERANCE_A;
}

function keyOf(controllerUuid: string, { connectorId }: { readonly connectorId: string }): string {
  return `${controllerUuid}/${connectorId}`;
}
