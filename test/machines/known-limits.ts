// The limits of a simulated location in the order of their submission, and the permitted power at an instant.
import { type LimitSource, limitInForce } from '../../machines/limits/limit-in-force.js';
import { type Budget, budgetOf } from '../../machines/power/budget.js';
import { HORIZON_MS, NOTICE_MS } from './supervised-site.js';

/** A decision follows its cause within this time. */
const DECIDED_WITHIN_MS = 100;

interface Limit {
  readonly fromMs: number;
  readonly limitW: number;
  /** Time at which the service received the limit. */
  readonly knownAtMs: number;
}

export class KnownLimits {
  /** The lowest limit that ever applies, known from the start. */
  readonly lowestW: number;
  /** True once the grid operator sets the limits. */
  areOrders = false;
  readonly #limits: Limit[] = [];

  constructor(lowestW: number) {
    this.lowestW = lowestW;
  }

  set(fromMs: number, limitW: number, knownAtMs: number): void {
    this.#limits.push({ fromMs, limitW, knownAtMs });
  }

  /** The limit in force at `atMs`, by the limits received until `knownMs`. */
  at(atMs: number, knownMs = atMs): number {
    let found: Limit | undefined;
    for (const limit of this.#limits) {
      const counts = limit.knownAtMs <= knownMs && limit.fromMs <= atMs;
      if (counts && (found === undefined || limit.fromMs >= found.fromMs)) found = limit;
    }
    return found?.limitW ?? 0;
  }

  /** The service's budget and the lower limits ahead, by the limits received until then (R3). */
  budgetAt(nowMs: number): Budget {
    const limitOf = (limitW: number) => ({
      limitKw: limitW / 1000,
      cause: { kind: 'permanentLimit' } as const,
    });
    const source: LimitSource = {
      name: 'own',
      isOrdered: true,
      mayPauseLocks: this.areOrders,
      current: limitOf(this.at(nowMs)),
      limitAt: (atMs) => limitOf(this.at(atMs, nowMs)),
      nextChangeAfter: (atMs) =>
        Math.min(...this.#limits.flatMap(({ fromMs }) => (fromMs > atMs ? [fromMs] : []))),
      lowestFrom: () => limitOf(this.lowestW),
      explain: () => '',
    };
    const sources = [source] as const;
    const limit = limitInForce(sources);
    return budgetOf(
      { sources, limit, buildingOnPhases: undefined, connectors: new Map() },
      { now: nowMs, nowMs },
      { noticeMs: NOTICE_MS, horizonMs: HORIZON_MS },
    );
  }

  /** Highest permitted power now under any knowledge that a grant in force may rest on (R3, R10). */
  allowedW(nowMs: number): number {
    const sinceMs = nowMs - HORIZON_MS - DECIDED_WITHIN_MS;
    let allowedW = this.at(nowMs, sinceMs);
    for (const { knownAtMs } of this.#limits) {
      if (knownAtMs >= sinceMs) allowedW = Math.max(allowedW, this.at(nowMs, knownAtMs));
    }
    return allowedW;
  }
}
