// Holds what truly flows to the limit in force, at every look: the sentence the whole service exists for.
import type { Clock } from '../../src/ports/clock.js';

export interface Measure {
  /** From `inS` seconds on it is `limitKw`. */
  becomes(limitKw: number, inS?: number): void;
  limitKw(): number;
  check(): void;
  /** One sentence for each time that it was exceeded, at most as many as tell something. */
  overshoots(): readonly string[];
}

const TOLD_AT_MOST = 5;
/** Sums of floating-point numbers. */
const ROUNDING_KW = 1e-6;

/** @param powerKw what flows now. */
export function createMeasure(clock: Clock, name: string, limitKw: number, powerKw: () => number): Measure {
  const limits = [{ fromMs: Number.NEGATIVE_INFINITY, limitKw }];
  const overshoots: string[] = [];

  function currentKw(): number {
    const nowMs = clock.monotonicMs();
    let current = limitKw;
    for (const limit of limits) if (limit.fromMs <= nowMs) current = limit.limitKw;
    return current;
  }

  return {
    becomes(newKw, inS = 0) {
      limits.push({ fromMs: clock.monotonicMs() + inS * 1000, limitKw: newKw });
    },
    limitKw: currentKw,
    check() {
      const drawnKw = powerKw();
      if (drawnKw <= currentKw() + ROUNDING_KW || overshoots.length >= TOLD_AT_MOST) return;
      const atS = clock.monotonicMs() / 1000;
      overshoots.push(`${name} drew ${drawnKw.toFixed(2)} kW of ${currentKw()} kW at ${atS} s`);
    },
    overshoots: () => overshoots,
  };
}
