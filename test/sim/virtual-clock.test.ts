// The virtual clock replaces the host's, so it must keep the same guarantees for the service.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createVirtualClock } from '../../sim/virtual-clock.js';
import type { Clock } from '../../src/ports/clock.js';

const START = Date.UTC(2026, 0, 1);

describe('A virtual clock', () => {
  it('fires each timer at its own instant, and no other', () => {
    const clock = createVirtualClock(START);
    const fired: number[] = [];
    for (const delayMs of [30, 10, 20, 40]) clock.after(delayMs, () => fired.push(clock.nowMs() - START));
    clock.advance(20);
    expect(fired).toEqual([10, 20]);
    clock.advanceTo(START + 39);
    expect(fired).toEqual([10, 20, 30]);
    expect([clock.nowMs() - START, clock.monotonicMs(), clock.pendingTimers()]).toEqual([39, 39, 1]);
  });

  it('fires timers that a timer sets for its own instant after earlier timers', () => {
    const clock = createVirtualClock(START);
    const fired: string[] = [];
    const note = (what: string) => () => fired.push(`${what} ${clock.monotonicMs()}`);
    clock.after(10, () => {
      note('first')();
      clock.after(0, note('set by it'));
      clock.after(0, () => expect.unreachable())();
    });
    clock.after(10, note('second'));
    clock.after(11, note('later'));
    clock.advance(10);
    expect(fired).toEqual(['first 10', 'second 10', 'set by it 10']);
    expect(clock.pendingTimers()).toBe(1);
  });

  it('passes to an instant before its next timer without firing, and fires that on time', () => {
    const clock = createVirtualClock(START);
    const fired: number[] = [];
    clock.after(10, () => fired.push(clock.nowMs() - START));
    expect(clock.nextTimerMs()).toBe(10);
    clock.passTo(7);
    clock.after(1, () => fired.push(clock.nowMs() - START));
    expect([clock.nowMs() - START, clock.monotonicMs(), clock.nextTimerMs()]).toEqual([7, 7, 8]);
    clock.advance(3);
    expect(fired).toEqual([8, 10]);
    expect(clock.nextTimerMs()).toBe(Number.POSITIVE_INFINITY);
  });

  it('forgets a timer that is cancelled once or more', () => {
    const clock = createVirtualClock(START);
    const cancel = clock.after(10, () => expect.unreachable());
    cancel();
    cancel();
    clock.advance(20);
    expect(clock.pendingTimers()).toBe(0);
  });

  it.each([-3_600_000, 3_600_000])(
    'jumps %i ms only in wall time, with monotonic time and timers unchanged',
    (byMs) => {
      const clock = createVirtualClock(START);
      const fired: number[] = [];
      clock.after(10, () => fired.push(clock.monotonicMs()));
      clock.advance(4);
      clock.jump(byMs);
      expect([clock.nowMs() - START, clock.monotonicMs()]).toEqual([4 + byMs, 4]);
      clock.advance(5);
      expect(fired).toEqual([]);
      clock.advance(1);
      expect(fired).toEqual([10]);
    },
  );

  it('stalls, and then fires due timers late and once', () => {
    const clock = createVirtualClock(START);
    const fired: number[] = [];
    const again = () => {
      fired.push(clock.nowMs() - START);
      clock.after(10, again);
    };
    clock.after(10, again);
    clock.stall(1_000);
    expect(fired).toEqual([1_000]);
  });

  it('refuses to go back', () => {
    const clock = createVirtualClock(START);
    expect(() => clock.advance(-1)).toThrow();
    expect(() => clock.advanceTo(START - 1)).toThrow();
  });
});

/** A minimal implementation of the same port: a list that is searched for the first timer. */
class ListedClock implements Clock {
  #timers: { readonly atMs: number; readonly callback: () => void }[] = [];
  #monotonicMs = 0;
  #aheadMs = START;

  nowMs = () => this.#monotonicMs + this.#aheadMs;
  monotonicMs = () => this.#monotonicMs;
  pendingTimers = () => this.#timers.length;
  nextTimerMs = () => Math.min(...this.#timers.map(({ atMs }) => atMs));

  after = (delayMs: number, callback: () => void) => {
    const waitMs = Math.floor(Math.min(Math.max(delayMs, 0), 2 ** 31 - 1));
    const timer = { atMs: this.#monotonicMs + waitMs, callback };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((each) => each !== timer);
    };
  };

  step = (): boolean => {
    const timer = this.#timers.find(({ atMs }) => atMs === this.nextTimerMs());
    if (timer === undefined) return false;
    this.#timers = this.#timers.filter((each) => each !== timer);
    this.#monotonicMs = Math.max(this.#monotonicMs, timer.atMs);
    timer.callback();
    return true;
  };

  advance = (ms: number) => {
    const untilMs = this.#monotonicMs + Math.floor(ms);
    while (this.nextTimerMs() <= untilMs) this.step();
    this.#monotonicMs = untilMs;
  };

  stall = (ms: number) => {
    this.#monotonicMs += ms;
    this.advance(0);
  };

  jump = (byMs: number) => {
    this.#aheadMs += byMs;
  };
}

/** A timer with the timers that its callback sets and cancels, and the number of its repetitions. */
interface PlannedTimer {
  readonly delayMs: number;
  readonly inner: readonly PlannedTimer[];
  readonly cancels: number;
  readonly repeats: number;
}

const delay = fc.oneof(
  fc.integer({ min: -5, max: 30 }),
  fc.double({ min: 0, max: 5, noNaN: true }),
  fc.constantFrom(0, 1_000, 2 ** 31 - 2, 2 ** 31 - 1, 2 ** 31, Number.POSITIVE_INFINITY),
);
const { timer } = fc.letrec<{ timer: PlannedTimer }>((tie) => ({
  timer: fc.record({
    delayMs: delay,
    inner: fc.oneof({ maxDepth: 2 }, fc.constant([]), fc.array(tie('timer'), { maxLength: 3 })),
    cancels: fc.integer({ min: 0, max: 20 }),
    repeats: fc.integer({ min: 0, max: 3 }),
  }),
}));
const deed = fc.oneof(
  { weight: 4, arbitrary: timer.map((planned) => ({ kind: 'after', planned }) as const) },
  fc.record({ kind: fc.constant('cancel' as const), nth: fc.nat(40) }),
  fc.record({ kind: fc.constant('step' as const) }),
  fc.record({ kind: fc.constant('jump' as const), ms: fc.integer({ min: -5_000_000, max: 5_000_000 }) }),
  fc.record({
    kind: fc.constant('advance' as const),
    ms: fc.oneof(fc.nat(60), fc.constantFrom(0, 86_400_000, 2 ** 31 + 5)),
  }),
  // No host stalls for more than a day.
  fc.record({
    kind: fc.constant('stall' as const),
    ms: fc.oneof(fc.nat(60), fc.constantFrom(0, 86_400_000)),
  }),
);

describe('A virtual clock and a list of timers', () => {
  /** Every callback with both clocks, and the pending timers after each action. */
  function courseOf(
    clock: Clock & Omit<ListedClock, keyof Clock>,
    deeds: readonly (typeof deed extends fc.Arbitrary<infer D> ? D : never)[],
  ): readonly string[] {
    const course: string[] = [];
    const cancels: (() => void)[] = [];
    const set = (planned: PlannedTimer, left = planned.repeats): void => {
      const name = cancels.length;
      const cancel = clock.after(planned.delayMs, () => {
        course.push(`${name} at ${clock.monotonicMs()}, ${clock.nowMs() - START}`);
        cancels[cancels.length - planned.cancels]?.();
        for (const inner of planned.inner) set(inner);
        if (left > 0) set(planned, left - 1);
      });
      cancels.push(cancel);
    };
    for (const each of deeds) {
      if (each.kind === 'after') set(each.planned);
      else if (each.kind === 'cancel') cancels[each.nth]?.();
      else if (each.kind === 'step') clock.step();
      else clock[each.kind](each.ms);
      course.push(`${clock.pendingTimers()} wait until ${clock.nextTimerMs()}`);
    }
    return course;
  }

  it('fire the same timers in the same order: ties, nested, cancelled, repeated, late, zero, negative and endless', () => {
    fc.assert(
      fc.property(fc.array(deed, { minLength: 1, maxLength: 25 }), (deeds) => {
        expect(courseOf(createVirtualClock(START), deeds)).toEqual(courseOf(new ListedClock(), deeds));
      }),
      { numRuns: 500 },
    );
  });
});
