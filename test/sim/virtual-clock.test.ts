// The virtual clock stands in for the host's: what the service relies on must hold on it too.
import { describe, expect, it } from 'vitest';
import { createVirtualClock } from '../../sim/virtual-clock.js';

const START = Date.UTC(2026, 0, 1);

describe('A virtual clock', () => {
  it('fires each timer at its own instant as time passes, and no other', () => {
    const clock = createVirtualClock(START);
    const fired: number[] = [];
    for (const delayMs of [30, 10, 20, 40]) clock.after(delayMs, () => fired.push(clock.nowMs() - START));
    clock.advance(20);
    expect(fired).toEqual([10, 20]);
    clock.advanceTo(START + 39);
    expect(fired).toEqual([10, 20, 30]);
    expect([clock.nowMs() - START, clock.monotonicMs(), clock.pendingTimers()]).toEqual([39, 39, 1]);
  });

  it('fires at its own instant what a timer sets for that, after what was set before', () => {
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

  it('passes to an instant before its next timer without firing, and fires that at its own', () => {
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

  it('forgets a timer that was cancelled, however often', () => {
    const clock = createVirtualClock(START);
    const cancel = clock.after(10, () => expect.unreachable());
    cancel();
    cancel();
    clock.advance(20);
    expect(clock.pendingTimers()).toBe(0);
  });

  it.each([-3_600_000, 3_600_000])(
    'jumps %i ms on the wall alone: monotonic time and timers go on',
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

  it('stands still and then fires what fell due, late and once', () => {
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

  it('does not go back', () => {
    const clock = createVirtualClock(START);
    expect(() => clock.advance(-1)).toThrow();
    expect(() => clock.advanceTo(START - 1)).toThrow();
  });
});
