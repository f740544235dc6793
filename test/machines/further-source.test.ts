// A further source of limits, defined here alone: limit, budget, boundaries, timeline and explanation follow it.
import { describe, expect, it } from 'vitest';
import { createActor } from 'xstate';
import { type LimitCause, type LimitSource, limitsInForce } from '../../machines/limits/limit-in-force.js';
import { physicalConnection } from '../../machines/limits/own-limits.js';
import { budgetOf } from '../../machines/power/budget.js';
import { locationMachine, nextLocationBoundary } from '../../machines/power/location.machine.js';
import type { EpochMs } from '../../machines/values/time.js';
import { newSupervisor } from './location-parts.js';

const HOUR_MS = 3_600_000;
const HORIZON_MS = 71_000;
const NOTICE_MS = 15_000;
const NEVER = Number.POSITIVE_INFINITY;

/** Product code does not know this source, so its cause has the kind of another one. */
const CAUSE: LimitCause = { kind: 'building' };

/** A cap from hour 1 to hour 2. */
function tariffCap(limitKw: number): LimitSource {
  const [startsAtMs, endsAtMs] = [HOUR_MS, 2 * HOUR_MS];
  const cap = { limitKw, cause: CAUSE };
  const limitAt = (atMs: EpochMs) => (atMs >= startsAtMs && atMs < endsAtMs ? cap : undefined);
  return {
    name: 'tariffCap',
    isTimed: true,
    isOrdered: true,
    current: undefined,
    limitAt,
    nextChangeAfter: (atMs) => [startsAtMs, endsAtMs].find((change) => change > atMs) ?? NEVER,
    lowestFrom: (now) => (now < endsAtMs ? cap : undefined),
    explain: (_cause, textOf) => `the cap of the tariff until ${textOf(endsAtMs)}`,
  };
}

/** A location of 40 kW with the cap, at `now`. */
function locationAt(now: EpochMs) {
  const actor = createActor(locationMachine, {
    input: {
      permanentLimitKw: 40,
      provisioned: [tariffCap(12), physicalConnection(80)],
      stack: [],
      connectors: [],
      supervisor: newSupervisor(),
      now,
      nowMs: now,
    },
  });
  const changesKw: number[] = [];
  actor.on('limitInForce.changed', ({ limitKw }) => changesKw.push(limitKw));
  actor.start();
  return {
    changesKw,
    context: () => actor.getSnapshot().context,
    pass: (atMs: EpochMs) => actor.send({ type: 'boundary.reached', now: atMs }),
  };
}

describe('A further source of limits', () => {
  it('limits the location in its window, from the first instant of the location or from a boundary on', () => {
    const { context, pass, changesKw } = locationAt(0);
    expect(context().limit).toMatchObject({ limitKw: 40, cause: { kind: 'permanentLimit' } });
    pass(HOUR_MS);
    expect(context().limit).toMatchObject({
      limitKw: 12,
      effectiveLimitKw: 40,
      source: { name: 'tariffCap' },
    });
    pass(2 * HOUR_MS);
    expect(context().limit.limitKw).toBe(40);
    expect(changesKw).toEqual([12, 40]);
    expect(locationAt(1.5 * HOUR_MS).context().limit.limitKw).toBe(12);
  });

  it('has its windows among the boundaries of the location', () => {
    const context = locationAt(0).context();
    expect(nextLocationBoundary(context, 0)).toBe(HOUR_MS);
    expect(nextLocationBoundary(context, HOUR_MS)).toBe(2 * HOUR_MS);
    expect(nextLocationBoundary(context, 2 * HOUR_MS)).toBeUndefined();
  });

  it('lowers the budget a notice before its window, and ends leases before it', () => {
    const context = locationAt(0).context();
    const lookAhead = { noticeMs: NOTICE_MS, horizonMs: HORIZON_MS };
    const budgetAt = (now: EpochMs) => budgetOf(context, { now, nowMs: now }, lookAhead);
    const lowered = { budgetW: 12_000, bindsFromMs: HOUR_MS, isOrdered: true };
    const lastFree = HOUR_MS - HORIZON_MS - 1;
    expect(budgetAt(lastFree)).toMatchObject({ budgetW: 40_000, fall: undefined, untilMs: lastFree + 1 });
    const noticeAtMs = HOUR_MS - NOTICE_MS;
    const beginsAt = { now: HOUR_MS, nowMs: HOUR_MS };
    for (const now of [lastFree + 1, noticeAtMs - 1])
      expect(budgetAt(now)).toMatchObject({
        budgetW: 40_000,
        untilMs: noticeAtMs,
        fall: { ...lowered, beginsAt },
      });
    expect(budgetAt(noticeAtMs)).toMatchObject({
      ...lowered,
      limitW: 40_000,
      lowestW: 12_000,
      fall: undefined,
    });
  });

  it('has its place in the timeline, with its explanation', () => {
    const { sources } = locationAt(0).context();
    const segments = limitsInForce(sources, [{ startsAtMs: 0, endsAtMs: 3 * HOUR_MS }]);
    expect(segments.map(({ endsAtMs, limitKw, source }) => [endsAtMs, limitKw, source.name])).toEqual([
      [HOUR_MS, 40, 'own'],
      [2 * HOUR_MS, 12, 'tariffCap'],
      [3 * HOUR_MS, 40, 'own'],
    ]);
    const [, inWindow] = segments;
    expect(inWindow?.source.explain(inWindow.cause, (atMs) => `hour ${atMs / HOUR_MS}`)).toBe(
      'the cap of the tariff until hour 2',
    );
  });
});
