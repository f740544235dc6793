// All window boundaries on one heap over one host timer: exact instants, however far away, whatever the host clock does.
import FlatQueue from 'flatqueue';
import type { EpochMs } from '../../machines/values/time.js';
import type { Cancel, Clock } from '../ports/clock.js';

/** An entity with boundaries. */
export interface Scheduled {
  /** Place of its next boundary in the order of all, undefined while it has none. The scheduler alone writes it. */
  dueRank: number | undefined;
}

/** Who is told what the scheduler notices. */
export interface SchedulerListener<E extends Scheduled> {
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
export class Scheduler<E extends Scheduled> {
  readonly #clock: Clock;
  #heap = new FlatQueue<E>();
  #armed = 0;
  #cancelTimer: Cancel | undefined;
  #timerAtMs = Number.POSITIVE_INFINITY;
  /** undefined while it does not run. */
  #listener: SchedulerListener<E> | undefined;
  #wallMs = 0;
  #monotonicMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  start(listener: SchedulerListener<E>): void {
    this.#listener = listener;
    this.#wallMs = this.#clock.nowMs();
    this.#monotonicMs = this.#clock.monotonicMs();
    this.#setTimer();
  }

  stop(): void {
    this.#listener = undefined;
    this.#cancelTimer?.();
    this.#timerAtMs = Number.POSITIVE_INFINITY;
  }

  /** The entity's next boundary is `dueAtMs`; what was set before is forgotten. `isEnd` goes before starts at the instant. */
  arm(entity: E, dueAtMs: EpochMs | undefined, isEnd: boolean): void {
    const rank = dueAtMs === undefined ? undefined : rankOf(dueAtMs, isEnd);
    if (entity.dueRank === rank) return;
    this.#armed += Number(rank !== undefined) - Number(entity.dueRank !== undefined);
    entity.dueRank = rank;
    if (rank === undefined) return;
    if (this.#heap.length > SWEEP_ABOVE && this.#heap.length > 2 * this.#armed) this.#sweep();
    this.#heap.push(entity, rank);
    this.#setTimer();
  }

  /** Looks at the clocks, notices one that jumped, and tells whether the boundary of any entity has come and was not handed on. */
  isAnyDue(): boolean {
    const now = this.#listener === undefined ? this.#clock.nowMs() : this.#lookAtClocks();
    return now >= this.#nextDueAtMs();
  }

  /** The same for one entity. */
  isDue({ dueRank }: Scheduled, now: EpochMs): boolean {
    return dueRank !== undefined && instantOf(dueRank) <= now;
  }

  /** Milliseconds by which the oldest waiting boundary is overdue; 0 when none is. */
  overdueMs(): number {
    return Math.max(0, this.#clock.nowMs() - this.#nextDueAtMs());
  }

  /** Infinite where none is armed. */
  #nextDueAtMs(): EpochMs {
    for (;;) {
      const rank = this.#heap.peekValue();
      if (rank === undefined) return Number.POSITIVE_INFINITY;
      if (this.#heap.peek()?.dueRank === rank) return instantOf(rank);
      this.#heap.pop();
    }
  }

  #sweep(): void {
    const swept = new FlatQueue<E>();
    const kept = new Set<E>();
    for (const entity of this.#heap.ids) {
      if (entity.dueRank === undefined || kept.has(entity)) continue;
      kept.add(entity);
      swept.push(entity, entity.dueRank);
    }
    this.#heap = swept;
  }

  #lookAtClocks(): EpochMs {
    const now = this.#clock.nowMs();
    const monotonicMs = this.#clock.monotonicMs();
    const jumpedMs = now - this.#wallMs - (monotonicMs - this.#monotonicMs);
    this.#wallMs = now;
    this.#monotonicMs = monotonicMs;
    if (Math.abs(jumpedMs) >= JUMP_MS) this.#listener?.onClockJump(Math.round(jumpedMs), now);
    return now;
  }

  #wake(): void {
    this.#timerAtMs = Number.POSITIVE_INFINITY;
    const now = this.#lookAtClocks();
    const due: E[] = [];
    let oldestMs = now;
    // A host timer may fire up to 1 ms early: only what the clock says is due is taken.
    for (let dueAtMs = this.#nextDueAtMs(); dueAtMs <= now; dueAtMs = this.#nextDueAtMs()) {
      const entity = this.#heap.pop();
      if (entity === undefined) break;
      entity.dueRank = undefined;
      this.#armed--;
      oldestMs = Math.min(oldestMs, dueAtMs);
      due.push(entity);
      if (due.length === BATCH) break;
    }
    try {
      if (due.length > 0) this.#listener?.onDue(due, now, now - oldestMs);
    } finally {
      this.#setTimer();
    }
  }

  /** Sets the one host timer to the next boundary, or to the next look. */
  #setTimer(): void {
    if (this.#listener === undefined) return;
    const now = this.#clock.nowMs();
    const delayMs = Math.min(Math.max(this.#nextDueAtMs() - now, 0), LOOK_EVERY_MS);
    if (now + delayMs >= this.#timerAtMs) return;
    this.#cancelTimer?.();
    this.#timerAtMs = now + delayMs;
    this.#cancelTimer = this.#clock.after(delayMs, () => this.#wake());
  }
}
