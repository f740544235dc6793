// A started scheduler on a virtual clock, with a record of all its calls.
import { expect } from 'vitest';
import type { VirtualClock } from '../../sim/virtual-clock.js';
import { Scheduler, type SchedulerListener } from '../../src/actors/scheduler.js';
import type { Clock } from '../../src/ports/clock.js';

export const START = Date.UTC(2026, 5, 1, 12);
export const SECOND = 1_000;
export const DAY = 86_400 * SECOND;

export interface Target {
  readonly name: string;
}

interface Fired {
  readonly name: string;
  readonly atMs: number;
  readonly lateMs: number;
}

export const target = (name: string): Target => ({ name });

export function rig(clock: VirtualClock, host: Clock = clock) {
  const fired: Fired[] = [];
  const batches: number[] = [];
  const jumps: { readonly byMs: number; readonly atMs: number }[] = [];
  const hooks = { onDue: (_entities: readonly Target[], _now: number) => {} };
  const scheduler = new Scheduler<Target>(host, 'wall');
  const listener: SchedulerListener<Target> = {
    atMost: 1_000,
    lookEveryMs: SECOND,
    onDue(due, now, lateMs) {
      const entities = [...due];
      batches.push(entities.length);
      for (const { name } of entities) fired.push({ name, atMs: clock.nowMs(), lateMs });
      expect(now).toBe(clock.nowMs());
      hooks.onDue(entities, now);
    },
    onClockJump: (byMs, atMs) => jumps.push({ byMs, atMs }),
  };
  scheduler.start(listener);
  return { scheduler, listener, fired, batches, jumps, hooks, names: () => fired.map(({ name }) => name) };
}
