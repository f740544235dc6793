// All window boundaries on one heap over one host timer: exact instants, however far away, whatever the host clock does.
import FlatQueue from 'flatqueue';
import type { EpochMs } from '../../machines/time.js';
import type { Cancel, Clock } from '../ports/clock.js';

/** An entity with boundaries. */
export interface Scheduled {
  /** Place of its next boundary in the order of all, undefined while it has none. The scheduler alone writes it. */
  dueRank: number | undefined;
}

export interface Scheduler {
  /** The entity's next boundary is `dueAtMs`; what was set before is forgotten. `isEnd` goes before starts at the instant. */
  arm(entity: Scheduled, dueAtMs: EpochMs | undefined, isEnd: boolean): void;
  /** Looks at the clocks, notices one that jumped, and tells whether the boundary of any entity has come and was not handed on. */
  isAnyDue(): boolean;
  /** The same for one entity. */
  isDue(entity: Scheduled, now: EpochMs): boolean;
  /** Milliseconds by which the oldest waiting boundary is overdue; 0 when none is. */
  overdueMs(): number;
  start(): void;
  stop(): void;
}

interface SchedulerOptions<E extends Scheduled> {
  readonly clock: Clock;
  /** Told of the entities whose boundary has come, in order; must not throw. `lateMs` is that of the oldest. */
  onDue(entities: readonly E[], now: EpochMs, lateMs: number): void;
  /** The wall clock moved `byMs` against the monotonic one since the last look. */
  onClockJump(byMs: number, now: EpochMs): void;
}

// The host is looked at this often even when nothing is due: a wall clock that jumps forward would otherwise be noticed
// only when the timer, which follows the monotonic clock, fires.
const LOOK_EVERY_MS = 1_000;
// Slewing moves a clock by 0.5 ms a second at most; anything above this is a step.
const JUMP_MS = 50;
// Entries of the heap that no longer count are swept out once they outnumber those that do: a slot that is written
// again and again with windows years ahead would otherwise fill the heap.
const SWEEP_ABOVE = 1_024;
// Entities handed on at once, so that a request can be answered in between when thousands are due together.
const BATCH = 1_000;

// Order at one instant: what ends goes before what starts.
const rankOf = (dueAtMs: EpochMs, isEnd: boolean) => dueAtMs * 2 + (isEnd ? 0 : 1);
const instantOf = (rank: number): EpochMs => Math.floor(rank / 2);

/** A heap of `[rank, entity]`; an entry counts only while its entity still has that rank. */
export function createScheduler<E extends Scheduled>(options: SchedulerOptions<E>): Scheduler {
  const { clock } = options;
  let heap = new FlatQueue<E>();
  let armed = 0;
  let cancelTimer: Cancel | undefined;
  let timerAtMs = Number.POSITIVE_INFINITY;
  let running = false;
  let wallMs = 0;
  let monotonicMs = 0;

  function nextDueAtMs(): EpochMs | undefined {
    for (;;) {
      const rank = heap.peekValue();
      if (rank === undefined) return undefined;
      if (heap.peek()?.dueRank === rank) return instantOf(rank);
      heap.pop();
    }
  }

  function sweep(): void {
    const swept = new FlatQueue<E>();
    const kept = new Set<E>();
    for (const entity of heap.ids) {
      if (entity.dueRank === undefined || kept.has(entity)) continue;
      kept.add(entity);
      swept.push(entity, entity.dueRank);
    }
    heap = swept;
  }

  function lookAtClocks(): EpochMs {
    const now = clock.nowMs();
    const monotonic = clock.monotonicMs();
    const jumpedMs = now - wallMs - (monotonic - monotonicMs);
    wallMs = now;
    monotonicMs = monotonic;
    if (Math.abs(jumpedMs) >= JUMP_MS) options.onClockJump(Math.round(jumpedMs), now);
    return now;
  }

  function wake(): void {
    timerAtMs = Number.POSITIVE_INFINITY;
    const now = lookAtClocks();
    const due: E[] = [];
    let oldestMs = now;
    // A host timer may fire up to 1 ms early: only what the clock says is due is taken.
    for (let dueAtMs = nextDueAtMs(); dueAtMs !== undefined && dueAtMs <= now; dueAtMs = nextDueAtMs()) {
      const entity = heap.pop();
      if (entity === undefined) break;
      entity.dueRank = undefined;
      armed--;
      oldestMs = Math.min(oldestMs, dueAtMs);
      due.push(entity);
      if (due.length === BATCH) break;
    }
    try {
      if (due.length > 0) options.onDue(due, now, now - oldestMs);
    } finally {
      rest();
    }
  }

  /** Sets the one host timer to the next boundary, or to the next look. */
  function rest(): void {
    if (!running) return;
    const now = clock.nowMs();
    const delayMs = Math.min(Math.max((nextDueAtMs() ?? Number.POSITIVE_INFINITY) - now, 0), LOOK_EVERY_MS);
    if (now + delayMs >= timerAtMs) return;
    cancelTimer?.();
    timerAtMs = now + delayMs;
    cancelTimer = clock.after(delayMs, wake);
  }

  return {
    arm(entity, dueAtMs, isEnd) {
      const rank = dueAtMs === undefined ? undefined : rankOf(dueAtMs, isEnd);
      if (entity.dueRank === rank) return;
      armed += Number(rank !== undefined) - Number(entity.dueRank !== undefined);
      entity.dueRank = rank;
      if (rank === undefined) return;
      if (heap.length > SWEEP_ABOVE && heap.length > 2 * armed) sweep();
      heap.push(entity as E, rank);
      rest();
    },
    isAnyDue: () => (running ? lookAtClocks() : clock.nowMs()) >= (nextDueAtMs() ?? Number.POSITIVE_INFINITY),
    isDue: ({ dueRank }, now) => dueRank !== undefined && instantOf(dueRank) <= now,
    overdueMs: () => Math.max(0, clock.nowMs() - (nextDueAtMs() ?? Number.POSITIVE_INFINITY)),
    start() {
      running = true;
      wallMs = clock.nowMs();
      monotonicMs = clock.monotonicMs();
      rest();
    },
    stop() {
      running = false;
      cancelTimer?.();
      timerAtMs = Number.POSITIVE_INFINITY;
    },
  };
}
