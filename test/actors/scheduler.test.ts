// Boundaries must never come early, never get lost and never hold the host up, whatever its clocks and timers do.
import fc from 'fast-check';
import FlatQueue from 'flatqueue';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createVirtualClock, type VirtualClock } from '../../sim/virtual-clock.js';
import { createScheduler, type Scheduled } from '../../src/actors/scheduler.js';
import type { Clock } from '../../src/ports.js';

const START = Date.UTC(2026, 5, 1, 12);
const SECOND = 1_000;
const DAY = 86_400 * SECOND;

interface Target extends Scheduled {
  readonly name: string;
}

interface Fired {
  readonly name: string;
  readonly atMs: number;
  readonly lateMs: number;
}

const target = (name: string): Target => ({ name, dueRank: undefined });

/** A started scheduler on `host`, with everything it handed on. */
function rig(clock: VirtualClock, host: Clock = clock) {
  const fired: Fired[] = [];
  const batches: number[] = [];
  const jumps: { readonly byMs: number; readonly atMs: number }[] = [];
  const hooks = { onDue: (_entities: readonly Target[], _now: number) => {} };
  const scheduler = createScheduler<Target>({
    clock: host,
    onDue(entities, now, lateMs) {
      batches.push(entities.length);
      for (const { name } of entities) fired.push({ name, atMs: clock.nowMs(), lateMs });
      expect(now).toBe(clock.nowMs());
      hooks.onDue(entities, now);
    },
    onClockJump: (byMs, atMs) => jumps.push({ byMs, atMs }),
  });
  scheduler.start();
  return { scheduler, fired, batches, jumps, hooks, names: () => fired.map(({ name }) => name) };
}

/** A host whose timers fire `earlyMs` too soon, as Node's do now and then. */
function hasty(clock: VirtualClock, earlyMs: number): Clock {
  return { ...clock, after: (delayMs, callback) => clock.after(delayMs - earlyMs, callback) };
}

afterEach(() => {
  vi.restoreAllMocks();
});

describe('Profiles are applied and rolled back at their instants (section 1)', () => {
  it('hands every boundary on at its own millisecond, in order, ends before starts (section 3.1)', () => {
    const boundary = fc.record({ inMs: fc.integer({ min: 0, max: 5_000 }), isEnd: fc.boolean() });
    const steps = fc.array(fc.integer({ min: 1, max: 1_500 }), { maxLength: 10 });
    fc.assert(
      fc.property(
        fc.array(boundary, { maxLength: 40 }),
        steps,
        fc.integer({ max: 1, min: 0 }),
        (due, ms, early) => {
          const clock = createVirtualClock(START);
          const { scheduler, fired } = rig(clock, hasty(clock, early));
          const expected = due.map(({ inMs, isEnd }, i) => ({
            name: `${i}`,
            atMs: START + Math.max(inMs, 0),
            isEnd,
          }));
          for (const { name, atMs, isEnd } of expected) scheduler.arm(target(name), atMs, isEnd);
          for (const step of ms) clock.advance(step);
          clock.advanceTo(Math.max(clock.nowMs(), START + 5_001));
          const order = (name: string) => expected[Number(name)];
          expect(fired).toHaveLength(due.length);
          for (const [i, { name, atMs }] of fired.entries()) {
            const here = order(name);
            const before = fired[i - 1] && order(fired[i - 1]?.name ?? '');
            expect(atMs).toBe(here?.atMs);
            if (before?.atMs === atMs)
              expect(Number(before.isEnd)).toBeGreaterThanOrEqual(Number(here?.isEnd));
          }
        },
      ),
      { numRuns: 150 },
    );
  });

  it('is not early by the millisecond a host timer may be early', () => {
    const clock = createVirtualClock(START);
    const { scheduler, fired } = rig(clock, hasty(clock, 1));
    scheduler.arm(target('a'), START + 700, false);
    clock.advance(699);
    expect(fired).toEqual([]);
    clock.advance(1);
    expect(fired).toEqual([{ name: 'a', atMs: START + 700, lateMs: 0 }]);
  });

  it.each([
    ['30 days', 30 * DAY],
    ['40 years', 40 * 365.25 * DAY],
  ])('waits %s for a window, longer than any host timer can', (_, inMs) => {
    const clock = createVirtualClock(START);
    const delays: number[] = [];
    const watched: Clock = {
      ...clock,
      after(delayMs, callback) {
        delays.push(delayMs);
        return clock.after(delayMs, callback);
      },
    };
    const { scheduler, fired } = rig(clock, watched);
    scheduler.arm(target('far'), START + inMs, false);
    clock.advance(60 * SECOND);
    // The host sleeps through the years: passing them second by second would be a billion looks.
    clock.stall(inMs - 62 * SECOND);
    clock.advanceTo(START + inMs - 1);
    expect(fired).toEqual([]);
    clock.advance(1);
    expect(fired).toEqual([{ name: 'far', atMs: START + inMs, lateMs: 0 }]);
    expect(Math.max(...delays)).toBeLessThan(2 ** 31);
  });

  it('says how late the oldest boundary is after the host stood still', () => {
    const clock = createVirtualClock(START);
    const { scheduler, fired, jumps } = rig(clock);
    scheduler.arm(target('b'), START + 900, false);
    scheduler.arm(target('a'), START + 500, false);
    clock.stall(10 * SECOND);
    expect(fired.map(({ name, lateMs }) => [name, lateMs])).toEqual([
      ['a', 9_500],
      ['b', 9_500],
    ]);
    expect(jumps).toEqual([]);
  });
});

describe('A wall clock that jumps', () => {
  it('forward is noticed within a second, and what became due is handed on', () => {
    const clock = createVirtualClock(START);
    const { scheduler, fired, jumps } = rig(clock);
    scheduler.arm(target('a'), START + 3_600 * SECOND, false);
    clock.advance(300);
    clock.jump(7_200 * SECOND);
    clock.advance(SECOND);
    expect(fired.map(({ name }) => name)).toEqual(['a']);
    expect(jumps.map(({ byMs }) => byMs)).toEqual([7_200 * SECOND]);
  });

  it('back is told, and nothing is handed on before the clock says so', () => {
    const clock = createVirtualClock(START);
    const { scheduler, fired, jumps } = rig(clock);
    scheduler.arm(target('a'), START + 500, false);
    clock.advance(400);
    clock.jump(-60 * SECOND);
    clock.advance(60 * SECOND + 99);
    expect(fired).toEqual([]);
    expect(jumps.map(({ byMs }) => byMs)).toEqual([-60 * SECOND]);
    clock.advance(1);
    expect(fired).toEqual([{ name: 'a', atMs: START + 500, lateMs: 0 }]);
  });

  it('back does not delay what is armed afterwards', () => {
    const clock = createVirtualClock(START);
    const { scheduler, fired } = rig(clock);
    clock.jump(-3_600 * SECOND);
    scheduler.arm(target('a'), clock.nowMs() + 5, false);
    clock.advance(5);
    expect(fired).toHaveLength(1);
  });

  it('is told once, with what it jumped by, and the time that passed is no jump', () => {
    const clock = createVirtualClock(START);
    const { jumps } = rig(clock);
    clock.advance(5 * SECOND);
    clock.stall(DAY);
    expect(jumps).toEqual([]);
    clock.jump(-50);
    clock.advance(5 * SECOND);
    expect(jumps.map(({ byMs }) => byMs)).toEqual([-50]);
  });

  it('never makes anything early, whichever way and however often it jumps', () => {
    const move = fc.oneof(
      fc.record({ kind: fc.constant('advance' as const), ms: fc.integer({ min: 0, max: 2_500 }) }),
      fc.record({ kind: fc.constant('jump' as const), ms: fc.integer({ min: -4_000, max: 4_000 }) }),
      fc.record({ kind: fc.constant('stall' as const), ms: fc.integer({ min: 0, max: 4_000 }) }),
      fc.record({ kind: fc.constant('arm' as const), ms: fc.integer({ min: -100, max: 6_000 }) }),
    );
    fc.assert(
      fc.property(fc.array(move, { maxLength: 30 }), (moves) => {
        const clock = createVirtualClock(START);
        const { scheduler, fired } = rig(clock, hasty(clock, 1));
        const dueAtMs = new Map<string, number>();
        for (const [i, { kind, ms }] of moves.entries()) {
          if (kind !== 'arm') clock[kind](ms);
          else scheduler.arm(target(`${i}`), dueAtMs.set(`${i}`, clock.nowMs() + ms).get(`${i}`), false);
        }
        for (const { name, atMs } of fired)
          expect(atMs).toBeGreaterThanOrEqual(dueAtMs.get(name) ?? Number.NaN);
        clock.advance(30 * 10 * SECOND);
        expect(fired.map(({ name }) => name).sort()).toEqual([...dueAtMs.keys()].sort());
      }),
      { numRuns: 150 },
    );
  });
});

describe('An entity that is armed again', () => {
  it('keeps only its last instant, be it earlier, later or none', () => {
    const clock = createVirtualClock(START);
    const { scheduler, fired } = rig(clock);
    const [earlier, later, none, restored] = ['earlier', 'later', 'none', 'restored'].map(target);
    if (!earlier || !later || !none || !restored) throw new Error('four targets');
    for (const entity of [earlier, later, none, restored]) scheduler.arm(entity, START + 500, false);
    scheduler.arm(earlier, START + 200, false);
    scheduler.arm(later, START + 800, false);
    scheduler.arm(none, undefined, false);
    scheduler.arm(restored, START + 900, false);
    scheduler.arm(restored, START + 500, false);
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
    scheduler.arm(b, START + 500, false);
    scheduler.arm(a, START + 500, false);
    scheduler.arm(c, START + 500, true);
    scheduler.arm(a, START + 500, true);
    scheduler.arm(c, START + 500, false);
    clock.advance(500);
    expect(names()[0]).toBe('a');
    expect(names()).toHaveLength(3);
  });

  it('from within its own boundary, is handed on at the next', () => {
    const clock = createVirtualClock(START);
    const { scheduler, fired, hooks } = rig(clock);
    hooks.onDue = (entities, now) => {
      for (const entity of entities) if (now < START + 300) scheduler.arm(entity, now + 100, false);
    };
    scheduler.arm(target('a'), START + 100, false);
    clock.advance(2 * SECOND);
    expect(fired.map(({ atMs }) => atMs - START)).toEqual([100, 200, 300]);
  });

  it('100,000 times leaves no heap of what no longer counts', () => {
    let longest = 0;
    const push = FlatQueue.prototype.push;
    vi.spyOn(FlatQueue.prototype, 'push').mockImplementation(function (this: FlatQueue, id, rank) {
      push.call(this, id, rank);
      longest = Math.max(longest, this.length);
    });
    const clock = createVirtualClock(START);
    const { scheduler, fired } = rig(clock);
    for (let i = 0; i < 1_000; i++) scheduler.arm(target('before'), START + 1, false);
    clock.advance(1);
    expect(fired.splice(0)).toHaveLength(1_000);
    const withdrawn = target('withdrawn');
    scheduler.arm(withdrawn, START + 2 * DAY, false);
    scheduler.arm(withdrawn, undefined, false);
    const entities = Array.from({ length: 100 }, (_, i) => target(`${i}`));
    // It is always next, so that nothing behind it is dropped for having come to the top.
    scheduler.arm(target('soon'), START + DAY, false);
    for (let i = 0; i < 100_000; i++) {
      const entity = entities[i % entities.length];
      if (entity) scheduler.arm(entity, START + 365 * DAY + i, i % 3 === 0);
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
      // What the host has to do meanwhile: a request that came in.
      if (entities.length > 0) clock.after(0, () => log.push('request'));
    };
    for (let i = 0; i < 2_500; i++) {
      const isEnd = i % 2 === 1;
      scheduler.arm(target(isEnd ? 'end' : 'start'), START + 500, isEnd);
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
    scheduler.arm(target('a'), START + 100, false);
    expect(scheduler.overdueMs()).toBe(0);
    clock.jump(1_500);
    expect(scheduler.overdueMs()).toBe(1_400);
    clock.advance(SECOND);
    expect(scheduler.overdueMs()).toBe(0);
  });
});

describe('A scheduler that is stopped', () => {
  it('leaves no timer behind, sets none, and hands nothing on', () => {
    const clock = createVirtualClock(START);
    const { scheduler, fired } = rig(clock);
    scheduler.arm(target('a'), START + 100, false);
    expect(clock.pendingTimers()).toBe(1);
    scheduler.stop();
    scheduler.arm(target('b'), START + 50, false);
    expect(clock.pendingTimers()).toBe(0);
    clock.advance(DAY);
    expect(fired).toEqual([]);
  });

  it('from within a boundary, sets no timer either', () => {
    const clock = createVirtualClock(START);
    const { scheduler, hooks } = rig(clock);
    hooks.onDue = (entities, now) => {
      scheduler.stop();
      for (const entity of entities) scheduler.arm(entity, now + 100, false);
    };
    scheduler.arm(target('a'), START + 100, false);
    clock.advance(100);
    expect(clock.pendingTimers()).toBe(0);
  });

  it('hands on, once it is started again, what came due meanwhile', () => {
    const clock = createVirtualClock(START);
    const { scheduler, names } = rig(clock);
    scheduler.stop();
    scheduler.arm(target('a'), START + 100, false);
    clock.advance(10 * SECOND);
    scheduler.start();
    clock.advance(0);
    expect(names()).toEqual(['a']);
  });

  it('never has more than one timer waiting', () => {
    const clock = createVirtualClock(START);
    const { scheduler } = rig(clock);
    for (let i = 100; i > 0; i--) scheduler.arm(target(`${i}`), START + 10 * i, false);
    for (let i = 0; i < 200; i++) {
      clock.advance(10);
      expect(clock.pendingTimers()).toBe(1);
    }
  });
});
