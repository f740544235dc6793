// The central invariant (P1): the physical power never exceeds the limit, except for a while after an unannounced
// decrease, and no current through a fuse exceeds its rating.
import type { EpochMs } from '../../machines/values/time.js';
import type { TenantEntry } from '../../src/provisioning/provisioning-schema.js';
import type { Agenda } from './agenda.js';
import type { ChargerRun } from './charger-run.js';
import type { LimitOracle } from './limit-oracle.js';
import { type CircuitPhaseName, capacitiesOf, circuitPhasesAbove, wiredTo } from './site-fuses.js';
import type { Report, Tracer } from './world-record.js';

/** Allows for rounding in sums of floating-point currents. */
const TOLERANCE_A = 0.001;

interface DrawingOutlet {
  readonly spec: { readonly connectorId: string };
  /** In A, for each of its own phases, in their order. */
  physicalCurrentA(): readonly number[];
}

interface DrawingCharger {
  readonly address: { readonly locationId: string; readonly controllerUuid: string };
  readonly outlets: readonly DrawingOutlet[];
}

interface DrawWatchOptions {
  /** Advances the location's chargers to the present, and reports their draw to the watch. */
  readonly refresh: (locationId: string) => void;
  readonly report: Report;
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
  readonly #options: DrawWatchOptions;

  constructor(options: DrawWatchOptions & { readonly tenants: readonly TenantEntry[] }) {
    this.#options = options;
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
  check(locationId: string): void {
    const circuitPhases = this.#circuitPhases.get(locationId);
    if (circuitPhases === undefined) return;
    const isAnyOver = () => [...circuitPhases.values()].some(isOver);
    if (isAnyOver()) this.#options.refresh(locationId);
    for (const circuitPhase of circuitPhases.values()) {
      if (isOver(circuitPhase) && !circuitPhase.isOver) {
        const detail = `${circuitPhase.flowsA.toFixed(2)} A flow through phase ${circuitPhase.name}, whose fuse carries ${circuitPhase.capacityA} A`;
        this.#options.report({ invariant: 'P1', target: locationId, detail });
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

/** Limit that still applies for a while after an unannounced decrease (R10). */
interface Grace {
  readonly untilMs: EpochMs;
  readonly limitW: number;
}

/** A few W: a tenth of an ampere is rounded down, a car's current is not. */
const TOLERANCE_W = 1;

export class PowerWatch {
  readonly #options: DrawWatchOptions & { readonly oracle: LimitOracle };
  readonly #oracle: LimitOracle;
  readonly #powerMw = new Map<string, number>();
  readonly #grace = new Map<string, Grace>();
  readonly #over = new Set<string>();
  readonly #pardoned = new Set<string>();
  readonly peakW = new Map<string, number>();

  constructor(options: DrawWatchOptions & { readonly oracle: LimitOracle }) {
    this.#options = options;
    this.#oracle = options.oracle;
  }

  /** The chargers of the location draw `changeMw` more. Whole mW keep the sum exact over a day of changes. */
  change(locationId: string, changeMw: number): void {
    this.#powerMw.set(locationId, (this.#powerMw.get(locationId) ?? 0) + changeMw);
  }

  powerW(locationId: string): number {
    return (this.#powerMw.get(locationId) ?? 0) / 1000;
  }

  /** The limit may have fallen from `fromW`: the chargers may draw that much until `untilMs`. */
  grant(locationId: string, fromW: number, untilMs: EpochMs): void {
    const held = this.#grace.get(locationId);
    const limitW = Math.max(fromW, held?.limitW ?? 0);
    this.#grace.set(locationId, { limitW, untilMs: Math.max(untilMs, held?.untilMs ?? 0) });
  }

  /** True while an earlier, higher limit still applies after an unannounced decrease. */
  isGraced(target: string, atMs: EpochMs): boolean {
    return atMs < (this.#grace.get(target)?.untilMs ?? 0);
  }

  /** A charger of the location obeys no limit, so its power is no evidence about the service. */
  pardon(locationId: string): void {
    this.#pardoned.add(locationId);
  }

  /** Compares the draw with the limit. Only chargers that `refresh` has advanced can cause a violation. */
  check(locationId: string, atMs: EpochMs): void {
    const limitW = this.allowedW(locationId, atMs);
    if (this.powerW(locationId) > limitW + TOLERANCE_W) this.#options.refresh(locationId);
    const powerW = this.powerW(locationId);
    if (powerW > (this.peakW.get(locationId) ?? 0)) this.peakW.set(locationId, powerW);
    if (this.#pardoned.has(locationId)) return;
    this.#judge(locationId, powerW, limitW);
    this.#checkClusters(locationId, atMs);
  }

  /** Reports each period in which a limit is exceeded once. */
  #judge(target: string, powerW: number, limitW: number): void {
    const isOver = powerW > limitW + TOLERANCE_W;
    if (isOver && !this.#over.has(target)) {
      const detail = `${powerW.toFixed(1)} W drawn, ${limitW} W allowed`;
      this.#options.report({ invariant: 'P1', target, detail });
    }
    if (isOver) this.#over.add(target);
    else this.#over.delete(target);
  }

  /** Power that the location may draw, W: its limit, or the earlier one that R10 still allows; without clusters. */
  allowedW(locationId: string, atMs: EpochMs): number {
    const limitW = this.#oracle.limitW(locationId, atMs);
    const grace = this.#grace.get(locationId);
    const isGraced = grace !== undefined && atMs < grace.untilMs;
    return Math.min(isGraced ? Math.max(limitW, grace.limitW) : limitW, this.#oracle.connectionW(locationId));
  }

  #checkClusters(locationId: string, atMs: EpochMs): void {
    if (this.#oracle.clusters.size === 0) return;
    for (const [clusterId, capW] of this.#oracle.capsOf(locationId)) {
      const locationIds = this.#oracle.clusters.get(clusterId)?.locationIds ?? [];
      const drawnW = () => locationIds.reduce((sum, member) => sum + this.powerW(member), 0);
      const grace = this.#grace.get(clusterId);
      const limitW = grace !== undefined && atMs < grace.untilMs ? grace.limitW : capW;
      if (drawnW() > limitW + TOLERANCE_W) locationIds.forEach(this.#options.refresh);
      this.#judge(`cluster ${clusterId}`, drawnW(), limitW);
    }
  }
}

// The physical power in a world, charger by charger, checked whenever the power or a limit may have changed.
interface SitePowerOptions {
  readonly tenants: readonly TenantEntry[];
  readonly oracle: LimitOracle;
  readonly runs: readonly ChargerRun[];
  readonly agenda: Agenda;
  /** Undefined without a listener of the trace. */
  readonly tracer: Tracer | undefined;
  readonly report: Report;
}

export class SitePower {
  readonly #options: SitePowerOptions;
  readonly #drawnMw = new Map<ChargerRun, number>();
  readonly watch: PowerWatch;
  readonly fuses: FuseWatch;

  constructor(options: SitePowerOptions) {
    this.#options = options;
    const refresh = (locationId: string) => this.#refresh(locationId);
    this.watch = new PowerWatch({ ...options, refresh });
    this.fuses = new FuseWatch({ ...options, refresh });
  }

  /** The charger's draw, limit, state or connection may have changed. */
  noteChange(run: ChargerRun): void {
    this.#options.tracer?.charger(run);
    if (!this.#measure(run)) return;
    const { locationId } = run.charger.address;
    this.watch.check(locationId, this.#options.agenda.nowMs());
    this.fuses.check(locationId);
    this.#options.tracer?.power(locationId, this.watch.powerW(locationId));
  }

  /** Draw of the location's chargers at this instant. */
  drawnW(locationId: string): number {
    this.#refresh(locationId);
    return this.watch.powerW(locationId);
  }

  /** The location's limit may have changed: the chargers can exceed it without any change of draw. */
  look(locationId: string): void {
    this.#options.tracer?.limit(locationId, this.watch.allowedW(locationId, this.#options.agenda.nowMs()));
    this.watch.check(locationId, this.#options.agenda.nowMs());
  }

  /** True if the draw has changed. */
  #measure(run: ChargerRun): boolean {
    const powerMw = Math.round(1000 * run.charger.physicalPowerW());
    const changeMw = powerMw - (this.#drawnMw.get(run) ?? 0);
    if (changeMw === 0) return false;
    this.#drawnMw.set(run, powerMw);
    this.watch.change(run.charger.address.locationId, changeMw);
    this.fuses.note(run.charger, this.#options.agenda.nowMs());
    return true;
  }

  /** A charger without a connection is advanced only now and then: its cars may have changed since. */
  #refresh(locationId: string): void {
    let isAnother = false;
    for (const run of this.#options.runs) {
      if (run.charger.address.locationId !== locationId) continue;
      run.charger.advance(this.#options.agenda.monotonicMs());
      if (this.#measure(run)) isAnother = true;
    }
    // This measurement consumed the change, so no other call would record it.
    if (isAnother) this.#options.tracer?.power(locationId, this.watch.powerW(locationId));
  }
}
