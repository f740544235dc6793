// Repeated arming, thousands of boundaries at once, and stopping. The scheduler stays small and lets the host run other
// work.
import FlatQueue from 'flatqueue';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createVirtualClock } from '../../sim/virtual-clock.js';
import { Scheduler } from '../../src/actors/scheduler.js';
import { DAY, rig, SECOND, START, target } from './scheduler-rig.js';

afterEach(() => {
  vi.restoreAllMocks();
});

describe('An entity that is armed again', () => {
  it('keeps only its last instant, be it earlier, later or none', () => {
    const clock = createVirtualClock(START);
    const { scheduler, fired } = rig(clock);
    const [earlier, later, none, restored] = ['earlier', 'later', 'none', 'restored'].map(target);
    if (!earlier || !later || !none || !restored) throw new Error('four targets');
    for (const entity of [earlier, later, none, restored]) scheduler.schedule(entity, START + 500);
    scheduler.schedule(earlier, START + 200);
    scheduler.schedule(later, START + 800);
    scheduler.cancel(none);
    scheduler.schedule(restored, START + 900);
    scheduler.schedule(restored, START + 500);
    clock.advance(2 * SECOND);
    expect(fired.map(({ name, atMs }) => [name, atMs - START])).toEqual([
      ['earlier', 200],
      ['restored', 500],
      ['later', 800],
    ]);
  });

  it('goes where it now belongs at the same instant: before starts once it ends something (section 3.1)', () => {
    const clock = createVirtualClock(START);
    const { scheduler, names } = rig(clock);
    const [a, b, c] = [target('a'), target('b'), target('c')];
    scheduler.schedule(b, START + 500);
    scheduler.schedule(a, START + 500);
    scheduler.schedule(c, START + 500, true);
    scheduler.schedule(a, START + 500, true);
    scheduler.schedule(c, START + 500);
    clock.advance(500);
    expect(names()[0]).toBe('a');
    expect(names()).toHaveLength(3);
  });

  it('from within its own boundary, is handed on at the next', () => {
    const clock = createVirtualClock(START);
    const { scheduler, fired, hooks } = rig(clock);
    hooks.onDue = (entities, now) => {
      for (const entity of entities) if (now < START + 300) scheduler.schedule(entity, now + 100);
    };
    scheduler.schedule(target('a'), START + 100);
    clock.advance(2 * SECOND);
    expect(fired.map(({ atMs }) => atMs - START)).toEqual([100, 200, 300]);
  });

  it('by an instant, keeps an earlier one', () => {
    const clock = createVirtualClock(START);
    const { scheduler, fired } = rig(clock);
    const [a, b] = [target('a'), target('b')];
    scheduler.scheduleBy(a, START + 300);
    scheduler.scheduleBy(a, START + 500);
    scheduler.scheduleBy(b, START + 500);
    scheduler.scheduleBy(b, START + 200);
    clock.advance(2 * SECOND);
    expect(fired.map(({ name, atMs }) => [name, atMs - START])).toEqual([
      ['b', 200],
      ['a', 300],
    ]);
  });

  it('100,000 times leaves no heap of old entries', () => {
    let longest = 0;
    const push = FlatQueue.prototype.push;
    vi.spyOn(FlatQueue.prototype, 'push').mockImplementation(function (this: FlatQueue, id, rank) {
      push.call(this, id, rank);
      longest = Math.max(longest, this.length);
    });
    const clock = createVirtualClock(START);
    const { scheduler, fired } = rig(clock);
    for (let i = 0; i < 1_000; i++) scheduler.schedule(target('before'), START + 1);
    clock.advance(1);
    expect(fired.splice(0)).toHaveLength(1_000);
    const withdrawn = target('withdrawn');
    scheduler.schedule(withdrawn, START + 2 * DAY);
    scheduler.cancel(withdrawn);
    const entities = Array.from({ length: 100 }, (_, i) => target(`${i}`));
    // This one is always next, so the scheduler never drops a stale entry behind it from the top of the heap.
    scheduler.schedule(target('soon'), START + DAY);
    for (let i = 0; i < 100_000; i++) {
      const entity = entities[i % entities.length];
      if (entity) scheduler.schedule(entity, START + 365 * DAY + i, i % 3 === 0);
    }
    expect(longest).toBeLessThanOrEqual(1_200);
    clock.stall(366 * DAY);
    expect(fired).toHaveLength(101);
    expect(new Set(fired.map(({ name }) => name)).size).toBe(101);
  });
});

describe('Thousands of boundaries at one instant', () => {
  it('go in batches, ends first across all of them, and the host does other things in between', () => {
    const clock = createVirtualClock(START);
    const { scheduler, batches, names, hooks } = rig(clock);
    const log: string[] = [];
    hooks.onDue = (entities) => {
      log.push('batch');
      // The host's other work: an incoming request.
      if (entities.length > 0) clock.after(0, () => log.push('request'));
    };
    for (let i = 0; i < 2_500; i++) {
      const isEnd = i % 2 === 1;
      scheduler.schedule(target(isEnd ? 'end' : 'start'), START + 500, isEnd);
    }
    clock.advance(520);
    expect(batches.reduce((sum, n) => sum + n, 0)).toBe(2_500);
    expect(Math.max(...batches)).toBeLessThanOrEqual(1_000);
    expect(log).toEqual(['batch', 'request', 'batch', 'request', 'batch', 'request']);
    expect(names().lastIndexOf('end')).toBeLessThan(names().indexOf('start'));
    expect(scheduler.overdueMs()).toBe(0);
  });

  it('that wait are overdue, and how much can be asked', () => {
    const clock = createVirtualClock(START);
    const { scheduler } = rig(clock);
    expect(scheduler.overdueMs()).toBe(0);
    scheduler.schedule(target('a'), START + 100);
    expect(scheduler.overdueMs()).toBe(0);
    clock.jump(1_500);
    expect(scheduler.overdueMs()).toBe(1_400);
    clock.advance(SECOND);
    expect(scheduler.overdueMs()).toBe(0);
  });
});

describe('A scheduler on the monotonic clock', () => {
  it('delivers keys that become due meanwhile in the same turn, up to its size, at any wall clock', () => {
    const clock = createVirtualClock(START);
    const scheduler = new Scheduler<string>(clock, 'monotonic');
    const turns: string[][] = [];
    scheduler.start({
      atMost: 3,
      lookEveryMs: 3_600 * SECOND,
      onDue(due, nowMs) {
        const turn: string[] = [];
        turns.push(turn);
        for (const key of due) {
          turn.push(`${key} ${nowMs}`);
          if (key === 'a') for (const next of ['b', 'c', 'd']) scheduler.scheduleBy(next, nowMs);
        }
      },
    });
    scheduler.scheduleBy('a', clock.monotonicMs() + 100);
    clock.jump(7_200 * SECOND);
    clock.advance(100);
    expect(turns.map(({ length }) => length)).toEqual([3, 1]);
    expect(turns.flat().sort()).toEqual(['a 100', 'b 100', 'c 100', 'd 100']);
  });
});

describe('A scheduler that is stopped', () => {
  it('leaves no timer behind, sets none, and hands nothing on', () => {
    const clock = createVirtualClock(START);
    const { scheduler, fired } = rig(clock);
    scheduler.schedule(target('a'), START + 100);
    expect(clock.pendingTimers()).toBe(1);
    scheduler.stop();
    scheduler.schedule(target('b'), START + 50);
    expect(clock.pendingTimers()).toBe(0);
    clock.advance(DAY);
    expect(fired).toEqual([]);
  });

  it('from within a boundary, sets no timer either', () => {
    const clock = createVirtualClock(START);
    const { scheduler, hooks } = rig(clock);
    hooks.onDue = (entities, now) => {
      scheduler.stop();
      for (const entity of entities) scheduler.schedule(entity, now + 100);
    };
    scheduler.schedule(target('a'), START + 100);
    clock.advance(100);
    expect(clock.pendingTimers()).toBe(0);
  });

  it('hands on, once it is started again, the keys that came due meanwhile', () => {
    const clock = createVirtualClock(START);
    const { scheduler, listener, names } = rig(clock);
    scheduler.stop();
    scheduler.schedule(target('a'), START + 100);
    clock.advance(10 * SECOND);
    scheduler.start(listener);
    clock.advance(0);
    expect(names()).toEqual(['a']);
  });

  it('never has more than one timer waiting', () => {
    const clock = createVirtualClock(START);
    const { scheduler } = rig(clock);
    for (let i = 100; i > 0; i--) scheduler.schedule(target(`${i}`), START + 10 * i);
    for (let i = 0; i < 200; i++) {
      clock.advance(10);
      expect(clock.pendingTimers()).toBe(1);
    }
  });
});
