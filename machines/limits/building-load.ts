// Load of the building beside the chargers on a location's connection, from its meter: it changes with every reading.
import type { EpochMs } from '../values/time.js';
import { type ChargersDraw, LoadEstimate } from './load-estimate.js';
import { MeterJudge } from './meter-judge.js';

/** One value for each of L1, L2 and L3. */
export type PerPhase = readonly [number, number, number];

/** A meter counts everything at the connection, or the building without the chargers. */
export const METER_COVERS = ['connection', 'building'] as const;
export type MeterCovers = (typeof METER_COVERS)[number];

/** A location's meter as provisioned. */
export interface SiteMeterRule {
  readonly covers: MeterCovers;
  /** Highest load of the building, which counts while the meter cannot be relied upon. */
  readonly maxBuildingKw: number;
  /** Bounds of the reserve beside the building. */
  readonly reserveKw: readonly [least: number, most: number];
  /** Chargers may use power that the site would feed back. */
  readonly pvRaisesHeadroom: boolean;
}

/** The connection at which the meter measures. */
export interface MeteredConnection {
  /** Highest import, W. */
  readonly limitW: number;
  /** Capacity of each phase, A; 0 for a phase without a fuse. Undefined if amperes are unknown. */
  readonly currentA: PerPhase | undefined;
  /** Phase to neutral. */
  readonly voltageV: number;
}

export interface SiteReading {
  /** By the sender's clock. */
  readonly atMs: EpochMs;
  /** Rises with each reading. */
  readonly hb?: number | undefined;
  /** Positive: import. */
  readonly powerW: number;
  readonly currentA?: PerPhase | undefined;
  /** Total import so far. */
  readonly energyWh?: number | undefined;
}

/** Draw of the chargers, as of an instant. */
export interface ChargersNow {
  readonly watts: ChargersDraw;
  /** A on each phase of the grid. `measured` leaves out current that may flow on another phase. */
  readonly amperes: readonly [ChargersDraw, ChargersDraw, ChargersDraw];
  /** Part of `watts.measured` that a meter must show, of chargers that keep to their limits, W. */
  readonly witnessedW: number;
  /** Every charger in reach has reported since then. */
  readonly reportedSinceMs: EpochMs;
}

/** Part of the connection that is not for the chargers. */
export interface Occupied {
  /** Counted load of the building, W. */
  readonly buildingW: number;
  /** Reserve beside the building, W. */
  readonly reserveW: number;
  /** Remaining capacity for the chargers, W. */
  readonly headroomW: number;
  /** Building and reserve on each phase of the connection, tenths of an ampere; undefined if amperes are unknown. */
  readonly occupiedTenthsA: readonly number[] | undefined;
}

const SHORTEST_CADENCE_MS = 1_000;
const LONGEST_CADENCE_MS = 60_000;
/** Before a second reading came. */
const PRESUMED_CADENCE_MS = 10_000;
const CADENCES = 5;
const MISSED_READINGS = 3;
/** The counted load rises smoothly to the building's maximum over this time. */
const FADING_MS = 30_000;
/** Step of the building's counted load. */
const STEP_W = 100;
const STEP_A = 0.5;
const NO_DRAW: ChargersDraw = { measured: 0, most: 0 };
const PHASES = [0, 1, 2] as const;

export class BuildingLoad {
  readonly rule: SiteMeterRule;
  readonly connection: MeteredConnection;
  /** Readings can arrive from then on. */
  readonly awaitedSinceMs: EpochMs;
  readonly #judge: MeterJudge;
  readonly #watts: LoadEstimate;
  readonly #amperes: readonly LoadEstimate[];
  /** Intervals between the last readings, newest last. */
  #cadencesMs: number[] = [];
  #receivedAtMs: EpochMs | undefined;
  #reading: SiteReading | undefined;

  constructor(rule: SiteMeterRule, connection: MeteredConnection, now: EpochMs) {
    this.rule = rule;
    this.connection = connection;
    this.awaitedSinceMs = now;
    this.#judge = new MeterJudge(rule.pvRaisesHeadroom);
    const [leastKw, mostKw] = rule.reserveKw;
    const bounds = { least: leastKw * 1000, most: mostKw * 1000, highest: rule.maxBuildingKw * 1000 };
    this.#watts = new LoadEstimate({ step: STEP_W, bounds });
    // The load may rise evenly, or on one phase alone.
    const onOnePhaseA = (powerW: number) => powerW / connection.voltageV;
    const boundsA = {
      least: this.#evenlyA(bounds.least),
      most: onOnePhaseA(bounds.most),
      highest: onOnePhaseA(bounds.highest),
    };
    this.#amperes = PHASES.map(() => new LoadEstimate({ step: STEP_A, bounds: boundsA }));
  }

  /** Undefined before the first reading. */
  get reading(): SiteReading | undefined {
    return this.#reading;
  }

  get receivedAtMs(): EpochMs | undefined {
    return this.#receivedAtMs;
  }

  get doubt() {
    return this.#judge.doubt;
  }

  /** The reserve follows from the building's past, and is not the provisioned maximum for lack of data. */
  get isReserveLearnt(): boolean {
    return this.#watts.isLearnt;
  }

  /** A reading waits for reports of the chargers. */
  get isUnconfirmed(): boolean {
    return this.#watts.isUnconfirmed;
  }

  /** Median interval between the last readings. */
  get cadenceMs(): number {
    const sorted = [...this.#cadencesMs].sort((a, b) => a - b);
    return sorted[Math.floor(sorted.length / 2)] ?? PRESUMED_CADENCE_MS;
  }

  /** From then on the building counts as its maximum, unless a reading comes. */
  get staleAtMs(): EpochMs {
    return this.#receivedMs + Math.max(MISSED_READINGS * this.cadenceMs, FADING_MS);
  }

  /** From then on, until the meter is stale, the counted load rises. */
  get fadesAtMs(): EpochMs {
    return Math.max(this.#receivedMs + 2 * this.cadenceMs, this.staleAtMs - FADING_MS);
  }

  get #receivedMs(): EpochMs {
    return this.#receivedAtMs ?? Number.NEGATIVE_INFINITY;
  }

  /**
   * False for a doubled reading, and for one that a newer reading overtook. At the same instant the higher `hb` is
   * newer.
   */
  isNews({ atMs, hb }: Pick<SiteReading, 'atMs' | 'hb'>): boolean {
    const last = this.#reading;
    if (last === undefined || atMs > last.atMs) return true;
    return atMs === last.atMs && hb !== undefined && last.hb !== undefined && hb > last.hb;
  }

  receive(reading: SiteReading, chargers: ChargersNow, now: EpochMs): void {
    const { powerW, currentA } = reading;
    if (now >= this.staleAtMs) this.#begin();
    if (this.#receivedAtMs !== undefined) this.#noteCadence(now - this.#receivedAtMs);
    this.#receivedAtMs = now;
    this.#reading = reading;
    const watts = this.#isSeen ? chargers.watts : NO_DRAW;
    const { measured, most } = watts;
    this.#judge.judge(
      {
        powerW,
        chargersW: measured,
        witnessedW: this.#isSeen ? chargers.witnessedW : 0,
        reportAgeMs: this.#isSeen ? Math.max(0, now - chargers.reportedSinceMs) : 0,
        delayMs: now - reading.atMs,
        mostChangeW: this.rule.maxBuildingKw * 1000 + Math.max(measured, most) + STEP_W,
      },
      now,
    );
    if (this.#judge.doubtedAtMs === now) {
      this.#clear();
      return;
    }
    // The readings that restore trust are the minute that counts then.
    const isTrusted = this.doubt === undefined;
    this.#watts.receive(powerW, watts, now, this.cadenceMs, isTrusted);
    for (const phase of PHASES) {
      const estimate = this.#amperes[phase];
      if (currentA === undefined) estimate?.clear();
      else {
        const draw = this.#isSeen ? chargers.amperes[phase] : NO_DRAW;
        estimate?.receive(currentA[phase], draw, now, this.cadenceMs, isTrusted);
      }
    }
    this.confirm(chargers, now);
  }

  /** Chargers have reported, so their part of the reading is known better. */
  confirm({ watts, amperes, reportedSinceMs }: ChargersNow, now: EpochMs): void {
    const sinceMs = this.#isSeen ? reportedSinceMs : now;
    this.#watts.confirm(this.#isSeen ? watts.measured : 0, sinceMs, now);
    for (const phase of PHASES)
      this.#amperes[phase]?.confirm(this.#isSeen ? amperes[phase].measured : 0, sinceMs, now);
  }

  /** @param lost 0: the last reading counts; 1: the building counts as its maximum */
  occupied(lost: number): Occupied {
    const { rule, connection } = this;
    const seenW = this.#within(this.#watts.counted ?? 0);
    const maxW = Math.max(rule.maxBuildingKw * 1000, seenW);
    // Above the building's maximum no reserve is necessary.
    const reserveW = Math.min(this.#watts.reserve, maxW - seenW);
    const takenW = seenW + reserveW;
    const buildingW = Math.round(seenW + lost * (maxW - seenW));
    const occupiedW = Math.round(takenW + lost * (maxW - takenW));
    return {
      buildingW,
      reserveW: occupiedW - buildingW,
      headroomW: Math.max(0, connection.limitW - occupiedW),
      occupiedTenthsA:
        connection.currentA && PHASES.map((phase) => this.#occupiedTenthsA(phase, occupiedW, maxW, lost)),
    };
  }

  /** The clock went back; readings keep their age. */
  shift(byMs: number): void {
    if (this.#receivedAtMs !== undefined) this.#receivedAtMs += byMs;
    // The sender's clock may have been set as well.
    if (this.#reading !== undefined) this.#reading = { ...this.#reading, atMs: Number.NEGATIVE_INFINITY };
    for (const estimate of [this.#watts, ...this.#amperes]) estimate.shift(byMs);
    this.#judge.pause();
  }

  /** The meter counts the chargers too. */
  get #isSeen(): boolean {
    return this.rule.covers === 'connection';
  }

  /** If the meter does not measure amperes, the building is assumed to load the phases alike. */
  #occupiedTenthsA(phase: number, occupiedW: number, maxW: number, lost: number): number {
    const estimate = this.#amperes[phase];
    const seenA = estimate?.counted;
    if (seenA === undefined || estimate === undefined) return tenthsUp(this.#evenlyA(occupiedW));
    const takenA = this.#within(seenA) + estimate.reserve;
    return tenthsUp(takenA + lost * Math.max(0, this.#evenlyA(maxW) - takenA));
  }

  /** Power that a site feeds back is available only if the provisioning file allows it. */
  #within(load: number): number {
    return this.rule.pvRaisesHeadroom ? load : Math.max(0, load);
  }

  #evenlyA(powerW: number): number {
    const { currentA, voltageV } = this.connection;
    const phases = currentA?.filter((current) => current > 0).length ?? PHASES.length;
    return powerW / (Math.max(1, phases) * voltageV);
  }

  #noteCadence(cadenceMs: number): void {
    this.#cadencesMs.push(Math.min(Math.max(cadenceMs, SHORTEST_CADENCE_MS), LONGEST_CADENCE_MS));
    if (this.#cadencesMs.length > CADENCES) this.#cadencesMs.shift();
  }

  /** After a silence no earlier reading counts. */
  #begin(): void {
    this.#judge.pause();
    this.#clear();
  }

  #clear(): void {
    for (const estimate of [this.#watts, ...this.#amperes]) estimate.clear();
  }
}

function tenthsUp(currentA: number): number {
  return Math.ceil(currentA * 10 - 1e-6);
}
