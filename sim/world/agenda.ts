// What is to happen when in a world, on one heap over one timer of the virtual clock; ties in the order they were made.
import FlatQueue from 'flatqueue';
import type { Cancel, Clock } from '../../src/ports/clock.js';

export interface Agenda {
  /** Does it at `atMs` of the monotonic clock, or at once where that has passed. Whole ms. */
  at(atMs: number, work: () => void): void;
  /** Goes on with what is due, once the world has settled: still at the same instant. */
  resume(): void;
  /** What waits. */
  readonly length: number;
}

// Doubles hold 2^53: a world may run for days of ms with a million things at one of them.
const TIES = 2 ** 20;

/** @param mustWait whether the world has to settle before the next thing happens, at the same instant too. */
export function createAgenda(clock: Clock, mustWait: () => boolean = () => false): Agenda {
  const heap = new FlatQueue<() => void>();
  let made = 0;
  let isAwake = false;
  let timerAtMs = Number.POSITIVE_INFINITY;
  let cancelTimer: Cancel = () => {};

  function wake(): void {
    timerAtMs = Number.POSITIVE_INFINITY;
    isAwake = true;
    const nowMs = clock.monotonicMs();
    for (
      let rank = heap.peekValue();
      rank !== undefined && Math.floor(rank / TIES) <= nowMs && !mustWait();
      rank = heap.peekValue()
    ) {
      heap.pop()?.();
    }
    isAwake = false;
    // A timer that is set within one for this very instant would come a millisecond late: see `resume`.
    if (!mustWait()) arm();
  }

  function arm(): void {
    const rank = heap.peekValue();
    if (rank === undefined) return;
    const atMs = Math.floor(rank / TIES);
    if (atMs >= timerAtMs) return;
    timerAtMs = atMs;
    cancelTimer();
    cancelTimer = clock.after(Math.max(0, atMs - clock.monotonicMs()), wake);
  }

  return {
    at(atMs, work) {
      if (Number.isNaN(atMs)) throw new RangeError('nothing can happen at an instant that is no number');
      const whenMs = Math.max(Math.ceil(atMs), clock.monotonicMs());
      made = (made + 1) % TIES;
      heap.push(work, whenMs * TIES + made);
      if (!isAwake) arm();
    },
    resume: arm,
    get length() {
      return heap.length;
    },
  };
}
