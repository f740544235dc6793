// Compares the physical power with the limit in force at every look.
import type { Clock } from '../../src/ports/clock.js';

export interface Measure {
  /** The limit is `limitKw` from `inS` seconds on. */
  becomes(limitKw: number, inS?: number): void;
  limitKw(): number;
  check(): void;
  /** One sentence for each overshoot, TOLD_AT_MOST at most. */
  overshoots(): readonly string[];
}

const TOLD_AT_MOST = 5;
/** Tolerance for sums of floating-point numbers. */
const ROUNDING_KW = 1e-6;

/** @param powerKw the physical power now */
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
