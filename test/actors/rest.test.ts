// A location at rest has no actors. Nobody can distinguish it from one that was built at the start.
import { describe, expect, it } from 'vitest';
import { connectorKey } from '../../machines/values/ids.js';
import { drawnKwOf, effectiveLimitKwOf } from '../../src/actors/directory.js';
import type { AlarmRecord, LocationRecord, TenantState } from '../../src/ports/records.js';
import { CRANE, createHarbour, HARBOUR, location, QUAY, ROWS, START_MS } from './harbour.js';

const MINUTE_MS = 60_000;
const WINDOW = { startsAtMs: START_MS + 60 * MINUTE_MS, endsAtMs: START_MS + 90 * MINUTE_MS };
const TARGET = { kind: 'location', locationId: QUAY } as const;

/** One location with a charger, and a window that begins in an hour. */
const ALONE: TenantState = {
  ...ROWS,
  locations: [location(QUAY, [CRANE])],
  clusters: [],
  profiles: [{ target: TARGET, priority: 3, limitKw: 11, ...WINDOW }],
};

/** The same, built at the start: it is a member of a cluster, which limits nothing. */
const BUILT: TenantState = {
  ...ALONE,
  clusters: ROWS.clusters.map((cluster) => ({
    ...cluster,
    locationIds: [QUAY],
    status: 'INACTIVE' as const,
  })),
};

type Harbour = ReturnType<typeof createHarbour>;

function both(): readonly [Harbour, Harbour] {
  const [resting, built] = [createHarbour(ALONE), createHarbour(BUILT)];
  expect([resting.quay().rest === undefined, built.quay().rest === undefined]).toEqual([false, true]);
  for (const { enforcement } of [resting, built]) enforcement.start();
  return [resting, built];
}

/** With the writes of that time on disk. */
async function played(clock: Harbour['clock'], ms: number): Promise<void> {
  clock.advance(ms);
  await new Promise(setImmediate);
  clock.advance(0);
}

function quayWith(changes: Partial<LocationRecord>): TenantState {
  return { ...ALONE, locations: [{ ...location(QUAY, [CRANE]), ...changes }] };
}

function alarm(kind: AlarmRecord['kind']): AlarmRecord {
  const { controllerUuid, connectorId } = CRANE;
  const begin = { alarmId: 'a', reason: 'since yesterday', firstReason: 'since yesterday', beganAtMs: 0 };
  return { ...begin, kind, locationId: QUAY, controllerUuid, connectorId, endedAtMs: null };
}

describe('a location at rest', () => {
  it('gets its actors a minute before its next boundary at the latest, and keeps it to the millisecond', () => {
    const harbours = both();
    for (const { clock } of harbours) clock.advance(58 * MINUTE_MS);
    expect(harbours[0].quay().rest).toBeDefined();
    for (const { clock } of harbours) clock.advance(MINUTE_MS);
    expect(harbours[0].quay().rest).toBeUndefined();
    for (const { clock } of harbours) clock.advance(MINUTE_MS - 1);
    expect(harbours.map(({ effects }) => effects)).toEqual([[], []]);
    for (const { clock } of harbours) clock.advance(1);
    const begin = [
      expect.objectContaining({ type: 'profile.crossed', status: 'ACTIVE' }),
      { type: 'effectiveLimit.changed', effectiveLimitKw: 11 },
      { type: 'limitInForce.changed', limitKw: 11 },
    ];
    expect(harbours.map(({ effects }) => effects)).toEqual([begin, begin]);
  });

  it.each([0, 50, 3.5 * MINUTE_MS, 50.5 * MINUTE_MS])(
    'answers its first charger after %i ms as one that was built at the start does (R12)',
    async (afterMs) => {
      const harbours = both();
      for (const { clock, meterOf } of harbours) {
        clock.advance(afterMs);
        const reading = { powerW: 0, limitA: 6, status: 'Preparing', hb: 1, boot: 'b' } as const;
        meterOf(QUAY, CRANE).record(reading, clock.monotonicMs());
        await played(clock, 0);
      }
      const [resting, built] = harbours;
      if (afterMs > 100) expect(built.grants).not.toEqual([]);
      expect(resting.grants).toEqual(built.grants);
      for (const { clock } of harbours) await played(clock, MINUTE_MS);
      expect(built.grants).not.toEqual([]);
      expect(resting.grants).toEqual(built.grants);
      expect(resting.written).toEqual(built.written);
    },
  );

  it('reports its charger as OFFLINE after three heartbeats, without actors', () => {
    const alarms = both().map(({ clock, enforcement, quay }) => {
      const missed = [29_999, 30_000].map((afterMs) => {
        clock.advance(afterMs - clock.monotonicMs());
        enforcement.missSilent(quay(), clock.monotonicMs());
        return [...quay().alarms.values()];
      });
      return missed;
    });
    expect(alarms[0]).toEqual([[], [expect.objectContaining({ kind: 'OFFLINE', controllerUuid: 'crane' })]]);
    expect(alarms[0]).toEqual(alarms[1]);
  });

  it('draws nothing, and has its limit at once if anybody reads it', () => {
    const { quay } = createHarbour(ALONE);
    expect(drawnKwOf(quay())).toEqual({ actualKw: 0, estimatedKw: null });
    expect(quay().rest).toBeDefined();
    expect(effectiveLimitKwOf(quay())).toBe(50);
    expect(quay().rest).toBeUndefined();
    expect(quay().connectors.get(connectorKey(CRANE))?.control.account.boundTenthsA).toBe(60);
  });

  it('rests on while its rows stay the same, and is built from changed ones', () => {
    const { clock, recovery, quay } = createHarbour(ALONE);
    const before = quay();
    recovery.reconcile(HARBOUR, ALONE, clock.nowMs());
    expect(quay().rest).toBeDefined();
    recovery.reconcile(HARBOUR, { ...ALONE, profiles: [] }, clock.nowMs());
    expect(quay()).toBe(before);
    expect(quay().actor.getSnapshot().context.stack).toEqual([]);
  });

  it('rests as of the new time once the wall clock has gone back', () => {
    const begun = { startsAtMs: START_MS - 30 * MINUTE_MS, endsAtMs: WINDOW.endsAtMs };
    const rows = { ...ALONE, profiles: [{ target: TARGET, priority: 3, limitKw: 11, ...begun }] };
    const { clock, recovery, quay, effects } = createHarbour(rows);
    clock.jump(-60 * MINUTE_MS);
    recovery.rebuildAll(clock.nowMs());
    clock.advance(28 * MINUTE_MS);
    expect(quay().rest).toBeDefined();
    expect(effectiveLimitKwOf(quay())).toBe(50);
    clock.advance(2 * MINUTE_MS);
    expect(effects).toContainEqual({ type: 'effectiveLimit.changed', effectiveLimitKw: 11 });
  });
});

describe('a location needs its actors from the start', () => {
  const { controllerUuid, connectorId } = CRANE;
  const charger = { kind: 'connector', controllerUuid, connectorId } as const;
  const now = { startsAtMs: START_MS, endsAtMs: START_MS + 600 * MINUTE_MS };
  const grant = {
    lease: 'receipt',
    limitTenthsA: 160,
    thenTenthsA: 60,
    ttlMs: 60_000,
    phases: null,
  } as const;
  it.each<[string, TenantState]>([
    ['in a cluster', BUILT],
    ['with a grant on disk', { ...ALONE, reservations: [{ controllerUuid, connectorId, ...grant }] }],
    ['with a lock', { ...ALONE, profiles: [{ target: charger, priority: 1, limitKw: 11, ...now }] }],
    ['with an alarm that a decision ends', { ...ALONE, openAlarms: [alarm('LIMIT_UNATTAINABLE')] }],
    ['below the sum of its fail-safes', quayWith({ permanentLimitKw: 4 })],
    [
      'below that sum in a later window',
      { ...ALONE, profiles: [{ target: TARGET, priority: 3, limitKw: 4, ...WINDOW }] },
    ],
    ['with a fuse', quayWith({ connection: { currentA: [63, 63, 63], voltageV: 230 } })],
    [
      'with a boundary in a minute',
      {
        ...ALONE,
        profiles: [{ target: TARGET, priority: 3, limitKw: 11, ...now, startsAtMs: START_MS + 59_000 }],
      },
    ],
  ])('%s', (_, rows) => {
    expect(createHarbour(rows).quay().rest).toBeUndefined();
  });

  it('and not for the alarm of a charger that is still OFFLINE', () => {
    expect(createHarbour({ ...ALONE, openAlarms: [alarm('OFFLINE')] }).quay().rest).toBeDefined();
  });
});
