// The limits of a simulated location in the order of their submission, and the permitted power at an instant.
import type { Budget } from '../../machines/power/budget.js';
import { HORIZON_MS } from './supervised-site.js';

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

  /** The service's budget: the lowest limit within the horizon (R3). */
  budgetAt(nowMs: number): Budget {
    const limitW = this.at(nowMs);
    let budgetW = limitW;
    let bindsFromMs: number | undefined;
    let untilMs = Number.POSITIVE_INFINITY;
    for (const { fromMs } of this.#limits) {
      if (fromMs <= nowMs) continue;
      if (fromMs <= nowMs + HORIZON_MS) {
        const aheadW = this.at(fromMs, nowMs);
        if (aheadW < limitW) bindsFromMs = Math.min(bindsFromMs ?? fromMs, fromMs);
        budgetW = Math.min(budgetW, aheadW);
      } else untilMs = Math.min(untilMs, fromMs - HORIZON_MS);
    }
    const { lowestW } = this;
    const rest = {
      isOrdered: true,
      isLimitOrdered: true,
      pausingW: this.areOrders ? limitW : Number.POSITIVE_INFINITY,
      clusterShareW: Number.POSITIVE_INFINITY,
      clusterRoomW: Number.POSITIVE_INFINITY,
      isClusterBound: false,
      isLockNear: () => false,
      lockAheadKw: () => undefined,
      lockNoticeAtMs: Number.POSITIVE_INFINITY,
    };
    return {
      budgetW,
      raisesToW: budgetW,
      limitW,
      bindsFromMs: bindsFromMs ?? nowMs,
      untilMs,
      lowestW,
      lowestOwnW: lowestW,
      ...rest,
    };
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
