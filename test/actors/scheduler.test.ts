// No boundary comes early or is lost, whichever way the host's clocks and timers misbehave.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createVirtualClock, type VirtualClock } from '../../sim/virtual-clock.js';
import type { Clock } from '../../src/ports/clock.js';
import { DAY, rig, SECOND, START, target } from './scheduler-rig.js';

/** A host whose timers fire `earlyMs` too soon, as timers of Node sometimes do. */
function hasty(clock: VirtualClock, earlyMs: number): Clock {
  // Short delays stay as they are, so that time goes on: no host fires without end at one instant.
  return {
    ...clock,
    after: (delayMs, callback) => clock.after(delayMs > earlyMs ? delayMs - earlyMs : delayMs, callback),
  };
}

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
          for (const { name, atMs, isEnd } of expected) scheduler.schedule(target(name), atMs, isEnd);
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
    scheduler.schedule(target('a'), START + 700);
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
    scheduler.schedule(target('far'), START + inMs);
    clock.advance(60 * SECOND);
    // The host sleeps through the years, because a look each second would be a billion looks.
    clock.stall(inMs - 62 * SECOND);
    clock.advanceTo(START + inMs - 1);
    expect(fired).toEqual([]);
    clock.advance(1);
    expect(fired).toEqual([{ name: 'far', atMs: START + inMs, lateMs: 0 }]);
    expect(Math.max(...delays)).toBeLessThan(2 ** 31);
  });

  it('reports the delay of the oldest boundary after the host stood still', () => {
    const clock = createVirtualClock(START);
    const { scheduler, fired, jumps } = rig(clock);
    scheduler.schedule(target('b'), START + 900);
    scheduler.schedule(target('a'), START + 500);
    clock.stall(10 * SECOND);
    expect(fired.map(({ name, lateMs }) => [name, lateMs])).toEqual([
      ['a', 9_500],
      ['b', 9_500],
    ]);
    expect(jumps).toEqual([]);
  });
});

describe('A wall clock that jumps', () => {
  it('forward is noticed within a second, and due keys are handed on', () => {
    const clock = createVirtualClock(START);
    const { scheduler, fired, jumps } = rig(clock);
    scheduler.schedule(target('a'), START + 3_600 * SECOND);
    clock.advance(300);
    clock.jump(7_200 * SECOND);
    clock.advance(SECOND);
    expect(fired.map(({ name }) => name)).toEqual(['a']);
    expect(jumps.map(({ byMs }) => byMs)).toEqual([7_200 * SECOND]);
  });

  it('back is reported, and nothing is handed on before its time by the clock', () => {
    const clock = createVirtualClock(START);
    const { scheduler, fired, jumps } = rig(clock);
    scheduler.schedule(target('a'), START + 500);
    clock.advance(400);
    clock.jump(-60 * SECOND);
    clock.advance(60 * SECOND + 99);
    expect(fired).toEqual([]);
    expect(jumps.map(({ byMs }) => byMs)).toEqual([-60 * SECOND]);
    clock.advance(1);
    expect(fired).toEqual([{ name: 'a', atMs: START + 500, lateMs: 0 }]);
  });

  it('back does not delay keys armed afterwards', () => {
    const clock = createVirtualClock(START);
    const { scheduler, fired } = rig(clock);
    clock.jump(-3_600 * SECOND);
    scheduler.schedule(target('a'), clock.nowMs() + 5);
    clock.advance(5);
    expect(fired).toHaveLength(1);
  });

  it('is reported once, with its length, and elapsed time is no jump', () => {
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
          else {
            dueAtMs.set(`${i}`, clock.nowMs() + ms);
            scheduler.schedule(target(`${i}`), clock.nowMs() + ms);
          }
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
