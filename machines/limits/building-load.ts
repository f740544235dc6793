// What the building beside the chargers takes of a location's connection, from its meter: numbers that change with every reading.
import type { EpochMs } from '../values/time.js';
import { type ChargersDraw, LoadEstimate } from './load-estimate.js';
import { MeterJudge } from './meter-judge.js';

/** One value for each of L1, L2 and L3. */
export type PerPhase = readonly [number, number, number];

/** What a meter counts: everything at the connection, or the building without the chargers. */
export const METER_COVERS = ['connection', 'building'] as const;
export type MeterCovers = (typeof METER_COVERS)[number];

/** A location's meter as it is provisioned. */
export interface SiteMeterRule {
  readonly covers: MeterCovers;
  /** What the building draws at most: it counts as that while the meter cannot be relied upon. */
  readonly maxBuildingKw: number;
  /** Bounds of what is kept free beside the building. */
  readonly reserveKw: readonly [least: number, most: number];
  /** Whether chargers may use what the site would feed back. */
  readonly pvRaisesHeadroom: boolean;
}

/** What the meter measures at, and what it carries. */
export interface MeteredConnection {
  /** The most that may be imported, W. */
  readonly limitW: number;
  /** Of each phase, A; 0 where a phase has no fuse. undefined where no amperes are known. */
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
  /** Imported so far. */
  readonly energyWh?: number | undefined;
}

/** What the chargers draw, as of an instant. */
export interface ChargersNow {
  readonly watts: ChargersDraw;
  /** A of each phase of the grid; what is not known to be drawn on a phase is not in `measured`. */
  readonly amperes: readonly [ChargersDraw, ChargersDraw, ChargersDraw];
  /** Of `watts.measured`, as much as a meter must show: by chargers that keep to their limits, W. */
  readonly witnessedW: number;
  /** Every charger that is in reach has reported since. */
  readonly reportedSinceMs: EpochMs;
}

/** What of the connection is not for the chargers. */
export interface Occupied {
  /** What the building counts as, W. */
  readonly buildingW: number;
  /** What is kept free beside it, W. */
  readonly reserveW: number;
  /** What both leave for the chargers, W. */
  readonly headroomW: number;
  /** What both take of each phase of the connection, tenths of an ampere; undefined where no amperes are known. */
  readonly occupiedTenthsA: readonly number[] | undefined;
}

const SHORTEST_CADENCE_MS = 1_000;
const LONGEST_CADENCE_MS = 60_000;
/** Before a second reading came. */
const PRESUMED_CADENCE_MS = 10_000;
const CADENCES = 5;
const MISSED_READINGS = 3;
/** The building rises to its maximum smoothly for so long before it counts as that. */
const FADING_MS = 30_000;
/** What the building counts as changes in steps of this. */
const STEP_W = 100;
const STEP_A = 0.5;
const NO_DRAW: ChargersDraw = { measured: 0, most: 0 };
const PHASES = [0, 1, 2] as const;

export class BuildingLoad {
  readonly rule: SiteMeterRule;
  readonly connection: MeteredConnection;
  /** It may be heard from then on. */
  readonly awaitedSinceMs: EpochMs;
  readonly #judge: MeterJudge;
  readonly #watts: LoadEstimate;
  readonly #amperes: readonly LoadEstimate[];
  /** How far apart the last readings were, newest last. */
  #cadencesMs: number[] = [];
  #heardAtMs: EpochMs | undefined;
  #reading: SiteReading | undefined;

  constructor(rule: SiteMeterRule, connection: MeteredConnection, now: EpochMs) {
    this.rule = rule;
    this.connection = connection;
    this.awaitedSinceMs = now;
    this.#judge = new MeterJudge(rule.pvRaisesHeadroom);
    const [leastKw, mostKw] = rule.reserveKw;
    const bounds = { least: leastKw * 1000, most: mostKw * 1000, highest: rule.maxBuildingKw * 1000 };
    this.#watts = new LoadEstimate({ step: STEP_W, bounds });
    // It may rise evenly, or on one phase alone.
    const onOnePhaseA = (powerW: number) => powerW / connection.voltageV;
    const boundsA = {
      least: this.#evenlyA(bounds.least),
      most: onOnePhaseA(bounds.most),
      highest: onOnePhaseA(bounds.highest),
    };
    this.#amperes = PHASES.map(() => new LoadEstimate({ step: STEP_A, bounds: boundsA }));
  }

  /** As it was read last; undefined before the first reading. */
  get reading(): SiteReading | undefined {
    return this.#reading;
  }

  get heardAtMs(): EpochMs | undefined {
    return this.#heardAtMs;
  }

  get doubt() {
    return this.#judge.doubt;
  }

  /** Whether the reserve follows from the building's past, and is not the provisioned maximum for want of one. */
  get isReserveLearnt(): boolean {
    return this.#watts.isLearnt;
  }

  /** Some reading waits for chargers to report. */
  get isUnconfirmed(): boolean {
    return this.#watts.isUnconfirmed;
  }

  /** How often it is read: the middle of the last times. */
  get cadenceMs(): number {
    const sorted = [...this.#cadencesMs].sort((a, b) => a - b);
    return sorted[Math.floor(sorted.length / 2)] ?? PRESUMED_CADENCE_MS;
  }

  /** From then on the building counts as its maximum, unless a reading comes. */
  get staleAtMs(): EpochMs {
    return this.#heardMs + Math.max(MISSED_READINGS * this.cadenceMs, FADING_MS);
  }

  /** From then on, until it is stale, it counts as more and more. */
  get fadesAtMs(): EpochMs {
    return Math.max(this.#heardMs + 2 * this.cadenceMs, this.staleAtMs - FADING_MS);
  }

  get #heardMs(): EpochMs {
    return this.#heardAtMs ?? Number.NEGATIVE_INFINITY;
  }

  /** False for one that is doubled or was overtaken; of one instant, `hb` tells which is newer. */
  isNews({ atMs, hb }: Pick<SiteReading, 'atMs' | 'hb'>): boolean {
    const last = this.#reading;
    if (last === undefined || atMs > last.atMs) return true;
    return atMs === last.atMs && hb !== undefined && last.hb !== undefined && hb > last.hb;
  }

  hear(reading: SiteReading, chargers: ChargersNow, now: EpochMs): void {
    const { powerW, currentA } = reading;
    if (now >= this.staleAtMs) this.#begin();
    if (this.#heardAtMs !== undefined) this.#noteCadence(now - this.#heardAtMs);
    this.#heardAtMs = now;
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
    if (this.doubt !== undefined) return;
    this.#watts.hear(powerW, watts, now, this.cadenceMs);
    for (const phase of PHASES) {
      const estimate = this.#amperes[phase];
      if (currentA === undefined) estimate?.clear();
      else
        estimate?.hear(
          currentA[phase],
          this.#isSeen ? chargers.amperes[phase] : NO_DRAW,
          now,
          this.cadenceMs,
        );
    }
    this.confirm(chargers, now);
  }

  /** Chargers have reported: what the meter saw of them is known better. */
  confirm({ watts, amperes, reportedSinceMs }: ChargersNow, now: EpochMs): void {
    const sinceMs = this.#isSeen ? reportedSinceMs : now;
    this.#watts.confirm(this.#isSeen ? watts.measured : 0, sinceMs, now);
    for (const phase of PHASES)
      this.#amperes[phase]?.confirm(this.#isSeen ? amperes[phase].measured : 0, sinceMs, now);
  }

  /** @param lost 0 where its last reading counts, 1 where the building counts as its maximum */
  occupied(lost: number): Occupied {
    const { rule, connection } = this;
    const seenW = this.#within(this.#watts.counted ?? 0);
    const maxW = Math.max(rule.maxBuildingKw * 1000, seenW);
    // Beyond its maximum nothing need be kept free.
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

  /** The clock went back: what was heard stays as old as it was. */
  shift(byMs: number): void {
    if (this.#heardAtMs !== undefined) this.#heardAtMs += byMs;
    // The sender's clock may have been set as well.
    if (this.#reading !== undefined) this.#reading = { ...this.#reading, atMs: Number.NEGATIVE_INFINITY };
    for (const estimate of [this.#watts, ...this.#amperes]) estimate.shift(byMs);
    this.#judge.pause();
  }

  /** The meter counts the chargers too. */
  get #isSeen(): boolean {
    return this.rule.covers === 'connection';
  }

  /** Where the meter does not tell amperes, the building is taken to load the phases alike. */
  #occupiedTenthsA(phase: number, occupiedW: number, maxW: number, lost: number): number {
    const estimate = this.#amperes[phase];
    const seenA = estimate?.counted;
    if (seenA === undefined || estimate === undefined) return tenthsUp(this.#evenlyA(occupiedW));
    const takenA = this.#within(seenA) + estimate.reserve;
    return tenthsUp(takenA + lost * Math.max(0, this.#evenlyA(maxW) - takenA));
  }

  /** What a site feeds back is nobody's to use unless that is provisioned. */
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

  /** After a silence nothing that was heard before counts. */
  #begin(): void {
    this.#judge.pause();
    for (const estimate of [this.#watts, ...this.#amperes]) estimate.clear();
  }
}

function tenthsUp(currentA: number): number {
  return Math.ceil(currentA * 10 - 1e-6);
}
