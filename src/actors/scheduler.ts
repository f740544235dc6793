// All window boundaries on one heap over one host timer: exact instants at any distance, even if the host's clock
// jumps.
import FlatQueue from 'flatqueue';
import type { EpochMs } from '../../machines/values/time.js';
import type { Cancel, Clock } from '../ports/clock.js';

export interface Scheduled {
  /** Place of the next boundary in the order of all; undefined without one. Only the scheduler writes it. */
  dueRank: number | undefined;
}

export interface SchedulerListener<E extends Scheduled> {
  /** Receives the entities with a due boundary, in order; must not throw. `lateMs` is the delay of the oldest. */
  onDue(entities: readonly E[], now: EpochMs, lateMs: number): void;
  /** The wall clock moved `byMs` against the monotonic one since the last look. */
  onClockJump(byMs: number, now: EpochMs): void;
}

// Interval between looks at the host's clock, even if nothing is due. The timer follows the monotonic clock, so it
// would notice a forward jump of the wall clock too late.
const LOOK_EVERY_MS = 1_000;
// Slewing moves a clock by at most 0.5 ms a second; anything above this is a step.
const JUMP_MS = 50;
// Outdated entries of the heap are removed once they outnumber the valid ones. Repeated writes of a slot with windows
// years ahead would otherwise fill the heap.
const SWEEP_ABOVE = 1_024;
// Entities delivered at once, so that requests get an answer in between if thousands are due together.
const BATCH = 1_000;

// Order at one instant: ends before starts.
const rankOf = (dueAtMs: EpochMs, isEnd: boolean) => dueAtMs * 2 + (isEnd ? 0 : 1);
const instantOf = (rank: number): EpochMs => Math.floor(rank / 2);

/** A heap of `[rank, entity]`; an entry counts only while its entity still has that rank. */
export class Scheduler<E extends Scheduled> {
  readonly #clock: Clock;
  #heap = new FlatQueue<E>();
  #armed = 0;
  #cancelTimer: Cancel | undefined;
  #timerAtMs = Number.POSITIVE_INFINITY;
  /** Undefined while the scheduler is stopped. */
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

  /** Replaces the entity's boundary. `isEnd`: it precedes starts at the same instant. */
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

  /** Reads the clocks and reports a jump. @returns true if a boundary has come and was not delivered */
  isAnyDue(): boolean {
    const now = this.#listener === undefined ? this.#clock.nowMs() : this.#lookAtClocks();
    return now >= this.#nextDueAtMs();
  }

  isDue({ dueRank }: Scheduled, now: EpochMs): boolean {
    return dueRank !== undefined && instantOf(dueRank) <= now;
  }

  /** Delay of the oldest waiting boundary, ms; 0 without one. */
  overdueMs(): number {
    return Math.max(0, this.#clock.nowMs() - this.#nextDueAtMs());
  }

  /** Infinite without an armed boundary. */
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
    // A host timer may fire up to 1 ms early: only boundaries that are due by the clock are taken.
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
