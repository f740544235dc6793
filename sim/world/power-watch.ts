// The invariant everything exists for: what truly flows never exceeds the limit, but where a limit fell unannounced.
import type { EpochMs } from '../../machines/time.js';
import type { LimitOracle } from './limit-oracle.js';

export interface Violation {
  readonly atMs: EpochMs;
  readonly invariant: string;
  readonly target: string;
  readonly detail: string;
}

/** What still applies for a while after a limit was lowered without warning (rule 10). */
interface Grace {
  readonly untilMs: EpochMs;
  readonly limitW: number;
}

/** A few W: a tenth of an ampere is rounded down, a car's current is not. */
const TOLERANCE_W = 1;

export class PowerWatch {
  readonly #oracle: LimitOracle;
  readonly #onViolation: (violation: Violation) => void;
  readonly #powerW = new Map<string, number>();
  readonly #grace = new Map<string, Grace>();
  readonly #over = new Set<string>();
  /** Above the limit, graces apart: power times time, per location. */
  readonly overshootWms = new Map<string, number>();
  readonly peakW = new Map<string, number>();

  constructor(oracle: LimitOracle, onViolation: (violation: Violation) => void) {
    this.#oracle = oracle;
    this.#onViolation = onViolation;
  }

  /** The chargers of the location draw `changeW` more. */
  change(locationId: string, changeW: number, atMs: EpochMs): void {
    const powerW = (this.#powerW.get(locationId) ?? 0) + changeW;
    this.#powerW.set(locationId, powerW);
    if (powerW > (this.peakW.get(locationId) ?? 0)) this.peakW.set(locationId, powerW);
    this.check(locationId, atMs);
  }

  powerW(locationId: string): number {
    return this.#powerW.get(locationId) ?? 0;
  }

  /** The limit may have fallen at `atMs` from `fromW`: who draws that much may go on until `untilMs`. */
  grant(locationId: string, fromW: number, untilMs: EpochMs): void {
    const held = this.#grace.get(locationId);
    const limitW = Math.max(fromW, held?.limitW ?? 0);
    this.#grace.set(locationId, { limitW, untilMs: Math.max(untilMs, held?.untilMs ?? 0) });
  }

  check(locationId: string, atMs: EpochMs): void {
    const powerW = this.powerW(locationId);
    const limitW = this.#allowedW(locationId, atMs);
    const isOver = powerW > limitW + TOLERANCE_W;
    if (isOver && !this.#over.has(locationId)) {
      const detail = `${powerW.toFixed(1)} W drawn, ${limitW} W allowed`;
      this.#onViolation({ atMs, invariant: 'P1', target: locationId, detail });
    }
    if (isOver) this.#over.add(locationId);
    else this.#over.delete(locationId);
    this.#checkClusters(locationId, atMs);
  }

  #allowedW(locationId: string, atMs: EpochMs): number {
    const limitW = this.#oracle.limitW(locationId, atMs);
    const grace = this.#grace.get(locationId);
    const isGraced = grace !== undefined && atMs < grace.untilMs;
    return Math.min(isGraced ? Math.max(limitW, grace.limitW) : limitW, this.#oracle.connectionW(locationId));
  }

  #checkClusters(locationId: string, atMs: EpochMs): void {
    for (const [clusterId, { limitKw, isActive, locationIds }] of this.#oracle.clusters) {
      if (limitKw === null || !isActive || !locationIds.includes(locationId)) continue;
      const powerW = locationIds.reduce((sum, member) => sum + this.powerW(member), 0);
      const grace = this.#grace.get(clusterId);
      const limitW = grace !== undefined && atMs < grace.untilMs ? grace.limitW : limitKw * 1000;
      const isOver = powerW > limitW + TOLERANCE_W;
      if (isOver && !this.#over.has(clusterId)) {
        const detail = `${powerW.toFixed(1)} W drawn, ${limitW} W allowed`;
        this.#onViolation({ atMs, invariant: 'P1', target: `cluster ${clusterId}`, detail });
      }
      if (isOver) this.#over.add(clusterId);
      else this.#over.delete(clusterId);
    }
  }
}
