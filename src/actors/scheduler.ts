// Keys that become due at instants of one clock, in order, on one heap over one host timer. It is exact at any distance,
// even if the wall clock jumps.
import FlatQueue from 'flatqueue';
import type { EpochMs } from '../../machines/values/time.js';
import type { Cancel, Clock } from '../ports/clock.js';

export interface SchedulerListener<K> {
  /** Due keys delivered at once at most, so that the host does other work if thousands are due together. */
  readonly atMost: number;
  /** The clock is read at least this often, even if nothing is due. */
  readonly lookEveryMs: number;
  /**
   * Receives due keys in order; must not throw. A key is taken when the iteration reaches it, so the iteration includes
   * keys that become due during it. `lateMs` is the delay of the first.
   */
  onDue(due: Iterable<K>, nowMs: number, lateMs: number): void;
  /** The wall clock moved `byMs` against the monotonic one since the last look. */
  onClockJump?(byMs: number, now: EpochMs): void;
}

// Slewing moves a clock by at most 0.5 ms a second; anything above this is a step.
const JUMP_MS = 50;
// Outdated entries of the heap are removed once they outnumber the valid ones. Repeated writes of a slot with windows
// years ahead would otherwise fill the heap.
const SWEEP_ABOVE = 1_024;
/** The wall clock has whole milliseconds, so a key that is first at its instant precedes the others, and no more. */
const FIRST_BY_MS = 0.5;

export class Scheduler<K> {
  readonly #clock: Clock;
  /** A host timer follows the monotonic clock; the wall clock may jump. */
  readonly #nowMs: () => number;
  #heap = new FlatQueue<K>();
  /** Place of each scheduled key on the heap. Other entries of the heap are outdated. */
  readonly #places = new Map<K, number>();
  #cancelTimer: Cancel | undefined;
  #timerAtMs = Number.POSITIVE_INFINITY;
  /** Undefined while the scheduler is stopped. */
  #listener: SchedulerListener<K> | undefined;
  #lookedAtMs = 0;
  #monotonicMs = 0;

  /** @param instants the clock of the scheduled instants */
  constructor(clock: Clock, instants: 'wall' | 'monotonic') {
    this.#clock = clock;
    this.#nowMs = instants === 'wall' ? () => clock.nowMs() : () => clock.monotonicMs();
  }

  start(listener: SchedulerListener<K>): void {
    this.#listener = listener;
    this.#lookedAtMs = this.#nowMs();
    this.#monotonicMs = this.#clock.monotonicMs();
    this.#setTimer();
  }

  stop(): void {
    this.#listener = undefined;
    this.#cancelTimer?.();
    this.#timerAtMs = Number.POSITIVE_INFINITY;
  }

  /** Replaces the key's instant. `isFirst`: it precedes the others of the same millisecond. */
  schedule(key: K, atMs: number, isFirst = false): void {
    const place = isFirst ? atMs - FIRST_BY_MS : atMs;
    if (this.#places.get(key) === place) return;
    this.#places.set(key, place);
    if (this.#heap.length > SWEEP_ABOVE && this.#heap.length > 2 * this.#places.size) this.#sweep();
    else this.#heap.push(key, place);
    this.#setTimer();
  }

  /** Keeps an earlier instant of the key. */
  scheduleBy(key: K, atMs: number): void {
    const place = this.#places.get(key);
    if (place === undefined || place > atMs) this.schedule(key, atMs);
  }

  cancel(key: K): void {
    this.#places.delete(key);
  }

  /** Reads the clocks and reports a jump. @returns true if a key is due and was not delivered */
  isAnyDue(): boolean {
    const nowMs = this.#listener === undefined ? this.#nowMs() : this.#lookAtClocks();
    return this.#nextPlace() <= nowMs;
  }

  isDue(key: K, nowMs: number): boolean {
    const place = this.#places.get(key);
    return place !== undefined && place <= nowMs;
  }

  /** Delay of the oldest due key, ms; 0 without one. */
  overdueMs(): number {
    return Math.max(0, Math.floor(this.#nowMs() - this.#nextPlace()));
  }

  /** Infinite without a scheduled key. */
  #nextPlace(): number {
    for (;;) {
      const place = this.#heap.peekValue();
      if (place === undefined) return Number.POSITIVE_INFINITY;
      const key = this.#heap.peek();
      if (key !== undefined && this.#places.get(key) === place) return place;
      this.#heap.pop();
    }
  }

  #sweep(): void {
    this.#heap = new FlatQueue<K>();
    for (const [key, place] of this.#places) this.#heap.push(key, place);
  }

  #lookAtClocks(): number {
    const nowMs = this.#nowMs();
    const monotonicMs = this.#clock.monotonicMs();
    const jumpedMs = nowMs - this.#lookedAtMs - (monotonicMs - this.#monotonicMs);
    this.#lookedAtMs = nowMs;
    this.#monotonicMs = monotonicMs;
    if (Math.abs(jumpedMs) >= JUMP_MS) this.#listener?.onClockJump?.(Math.round(jumpedMs), nowMs);
    return nowMs;
  }

  #wake(): void {
    this.#timerAtMs = Number.POSITIVE_INFINITY;
    const nowMs = this.#lookAtClocks();
    const place = this.#nextPlace();
    try {
      // A host timer may fire up to 1 ms early: only keys that are due by the clock are taken.
      if (place <= nowMs) this.#listener?.onDue(this.#take(nowMs), nowMs, Math.floor(nowMs - place));
    } finally {
      this.#setTimer();
    }
  }

  *#take(nowMs: number): Iterable<K> {
    const atMost = this.#listener?.atMost ?? 0;
    for (let taken = 0; taken < atMost && this.#nextPlace() <= nowMs; taken++) {
      const key = this.#heap.pop();
      if (key === undefined) return;
      this.#places.delete(key);
      yield key;
    }
  }

  /** Sets the one host timer to the next key, or to the next look. */
  #setTimer(): void {
    if (this.#listener === undefined) return;
    const nowMs = this.#nowMs();
    const delayMs = Math.min(Math.max(Math.ceil(this.#nextPlace() - nowMs), 0), this.#listener.lookEveryMs);
    if (nowMs + delayMs >= this.#timerAtMs) return;
    this.#cancelTimer?.();
    this.#timerAtMs = nowMs + delayMs;
    this.#cancelTimer = this.#clock.after(delayMs, () => this.#wake());
  }
}
