// The central invariant: the physical power never exceeds the limit, except for a while after an unannounced
// decrease.
import type { EpochMs } from '../../machines/values/time.js';
import type { LimitOracle } from './limit-oracle.js';

export interface Violation {
  readonly atMs: EpochMs;
  readonly invariant: string;
  readonly target: string;
  readonly detail: string;
}

/** A check's way to report a violation; the receiver adds the time. */
export type Report = (violation: Omit<Violation, 'atMs'>) => void;

/** Limit that still applies for a while after an unannounced decrease (R10). */
interface Grace {
  readonly untilMs: EpochMs;
  readonly limitW: number;
}

/** A few W: a tenth of an ampere is rounded down, a car's current is not. */
const TOLERANCE_W = 1;

export class PowerWatch {
  readonly #oracle: LimitOracle;
  readonly #onViolation: (violation: Violation) => void;
  readonly #refresh: (locationId: string) => void;
  readonly #powerMw = new Map<string, number>();
  readonly #grace = new Map<string, Grace>();
  readonly #over = new Set<string>();
  readonly #pardoned = new Set<string>();
  readonly peakW = new Map<string, number>();

  /** @param options.refresh advances the location's chargers to the present, and reports their draw by `change` */
  constructor(options: {
    readonly oracle: LimitOracle;
    readonly refresh: (locationId: string) => void;
    readonly onViolation: (violation: Violation) => void;
  }) {
    this.#oracle = options.oracle;
    this.#refresh = options.refresh;
    this.#onViolation = options.onViolation;
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
    if (this.powerW(locationId) > limitW + TOLERANCE_W) this.#refresh(locationId);
    const powerW = this.powerW(locationId);
    if (powerW > (this.peakW.get(locationId) ?? 0)) this.peakW.set(locationId, powerW);
    if (this.#pardoned.has(locationId)) return;
    this.#judge(locationId, powerW, limitW, atMs);
    this.#checkClusters(locationId, atMs);
  }

  /** Reports each period in which a limit is exceeded once. */
  #judge(target: string, powerW: number, limitW: number, atMs: EpochMs): void {
    const isOver = powerW > limitW + TOLERANCE_W;
    if (isOver && !this.#over.has(target)) {
      const detail = `${powerW.toFixed(1)} W drawn, ${limitW} W allowed`;
      this.#onViolation({ atMs, invariant: 'P1', target, detail });
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
      if (drawnW() > limitW + TOLERANCE_W) locationIds.forEach(this.#refresh);
      this.#judge(`cluster ${clusterId}`, drawnW(), limitW, atMs);
    }
  }
}
