// When each location looks at itself again, on one heap over one host timer of the monotonic clock.
import FlatQueue from 'flatqueue';
import type { Cancel, Clock } from '../../ports/clock.js';

/** Something that wants to be woken. */
export interface Sleeper {
  /** On the monotonic clock; undefined while it sleeps for good. The wakeups alone write it. */
  wakeAtMs: number | undefined;
}

export interface Wakeups<S extends Sleeper> {
  /** Wakes it at `atMs`, or earlier where that was asked for before. */
  wakeBy(sleeper: S, atMs: number): void;
  /** It is not woken any more. */
  forget(sleeper: S): void;
  start(): void;
  stop(): void;
}

// So that others get their turn in between when thousands wake at once.
const BATCH = 200;
const LONGEST_MS = 3_600_000;

/** @param options.onWake told of each in the order of their times; must not throw. */
export function createWakeups<S extends Sleeper>(options: {
  readonly clock: Clock;
  readonly onWake: (sleeper: S, nowMs: number) => void;
}): Wakeups<S> {
  const { clock, onWake } = options;
  // An entry counts only while its sleeper still wants that time.
  const heap = new FlatQueue<S>();
  let cancelTimer: Cancel | undefined;
  let timerAtMs = Number.POSITIVE_INFINITY;
  let running = false;

  function nextAtMs(): number | undefined {
    for (;;) {
      const atMs = heap.peekValue();
      if (atMs === undefined || heap.peek()?.wakeAtMs === atMs) return atMs;
      heap.pop();
    }
  }

  function wake(): void {
    timerAtMs = Number.POSITIVE_INFINITY;
    const nowMs = clock.monotonicMs();
    for (let woken = 0; woken < BATCH; woken++) {
      const atMs = nextAtMs();
      if (atMs === undefined || atMs > nowMs) break;
      const sleeper = heap.pop();
      if (sleeper === undefined) break;
      sleeper.wakeAtMs = undefined;
      onWake(sleeper, nowMs);
    }
    rest();
  }

  function rest(): void {
    const atMs = nextAtMs();
    if (!running || atMs === undefined || atMs >= timerAtMs) return;
    cancelTimer?.();
    timerAtMs = atMs;
    cancelTimer = clock.after(Math.min(Math.max(Math.ceil(atMs - clock.monotonicMs()), 0), LONGEST_MS), wake);
  }

  return {
    wakeBy(sleeper, atMs) {
      if (sleeper.wakeAtMs !== undefined && sleeper.wakeAtMs <= atMs) return;
      sleeper.wakeAtMs = atMs;
      heap.push(sleeper, atMs);
      rest();
    },
    forget(sleeper) {
      sleeper.wakeAtMs = undefined;
    },
    start() {
      running = true;
      rest();
    },
    stop() {
      running = false;
      cancelTimer?.();
      timerAtMs = Number.POSITIVE_INFINITY;
    },
  };
}
