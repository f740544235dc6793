// The contract of every database for reservations, alarms and minutes of power: one test file for each engine runs it.

import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ConnectorId, ControllerUuid, LocationId } from '../../../machines/values/ids.js';
import { readAlarms } from '../../../src/features/alarms/rows.js';
import { readPowerHistory } from '../../../src/features/power-history/rows.js';
import type { ReservationRecord } from '../../../src/ports/records.js';
import { type Store, StoreUnavailableError } from '../../../src/ports/store.js';
import type { DatabaseServer } from './database-server.js';
import {
  ALL_TIME,
  alarm,
  begin,
  CRANE,
  end,
  everything,
  HARBOUR,
  HARBOUR_TENANT,
  location,
  minute,
  openStore,
  PIER,
  provisionAll,
  put,
  QUAY,
  QUAY_TARGET,
  RIVAL,
  RIVAL_TENANT,
  RIVALS_ONLY,
  reservation,
  reserve,
  tenant,
} from './harbour.js';

const ONE = '1' as ConnectorId;
const TWO = '2' as ConnectorId;
const RIVAL_CRANE = 'rival-crane' as ControllerUuid;
const GONE = 'gone' as LocationId;
const MINUTE_MS = 60_000;
const NOON_MS = Date.parse('2026-06-01T12:00:00Z');

function nameOf({ controllerUuid, connectorId }: ReservationRecord): string {
  return `${controllerUuid}/${connectorId}`;
}

/** Tests of the contract; `server` may be called only in hooks and tests, once it has started. */
export function describeEnforcementRows(server: () => DatabaseServer): void {
  let databaseUrl: string;
  let store: Store;
  let metrics: Awaited<ReturnType<typeof openStore>>['metrics'];

  let provisionedUrl: string;
  beforeAll(async () => {
    provisionedUrl = await server().createDatabase();
    await provisionAll(provisionedUrl, [HARBOUR_TENANT, RIVAL_TENANT]);
  });
  beforeEach(async () => {
    databaseUrl = await server().copyDatabase(provisionedUrl);
    ({ store, metrics } = await openStore(databaseUrl));
  });
  afterEach(() => store.close());

  async function reopen(): Promise<void> {
    await store.close();
    ({ store, metrics } = await openStore(databaseUrl));
  }

  /** Number of commits since the store was opened. */
  async function commits(): Promise<number | undefined> {
    const { values } = await metrics.commitChanges.get();
    return values.find(({ metricName }) => metricName?.endsWith('_count'))?.value;
  }

  async function alarmIds(over: { locationId?: LocationId; window?: typeof ALL_TIME; count?: number } = {}) {
    const { locationId, window = ALL_TIME, count = 100 } = over;
    return (await store.read((trx) => readAlarms(trx, HARBOUR, { locationId, window, count }))).map(
      ({ alarmId }) => alarmId,
    );
  }

  const powerOf = (locationId = QUAY, window = ALL_TIME, stepMs = MINUTE_MS) =>
    store.read((trx) => readPowerHistory(trx, HARBOUR, locationId, window, stepMs));

  describe('The store of reservations', () => {
    it('returns the last reservation of each connector after a restart', async () => {
      await store.append(HARBOUR, [reserve({ limitTenthsA: 60 }), reserve({ connectorId: TWO, phases: 1 })]);
      await store.append(HARBOUR, [
        reserve({ limitTenthsA: 320, lease: 'receipt' }),
        reserve({ limitTenthsA: 0, thenTenthsA: 1, lease: 'none' }),
      ]);
      await reopen();
      expect((await store.loadTenant(HARBOUR)).reservations).toEqual([
        reservation({ limitTenthsA: 0, thenTenthsA: 1, lease: 'none' }),
        reservation({ connectorId: TWO, phases: 1 }),
      ]);
    });

    it('keeps the last reservation of many callers in one commit', async () => {
      const puts = Array.from({ length: 50 }, (_, i) =>
        store.append(HARBOUR, [
          reserve({ limitTenthsA: i }),
          reserve({ connectorId: TWO, limitTenthsA: 2 * i }),
        ]),
      );
      await Promise.all(puts);
      const { reservations } = await store.loadTenant(HARBOUR);
      expect(reservations.map(({ limitTenthsA }) => limitTenthsA)).toEqual([49, 98]);
    });

    it('accepts thousands in one append', async () => {
      const chargers = Array.from({ length: 1500 }, (_, i) => `charger-${i}`);
      await provisionAll(databaseUrl, [tenant(HARBOUR, [location(PIER, chargers)])]);
      const all = chargers.flatMap((id, i) =>
        [ONE, TWO].map((connectorId) =>
          reservation({ controllerUuid: id as ControllerUuid, connectorId, limitTenthsA: i }),
        ),
      );
      await store.append(
        HARBOUR,
        all.map((each) => ({ kind: 'reservation.put', reservation: each })),
      );
      const { reservations } = await store.loadTenant(HARBOUR);
      // Sorted, because an unordered comparison of so many objects compares each with each.
      const inOrder = (rows: typeof reservations) =>
        rows.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
      expect(inOrder(reservations)).toEqual(inOrder(all));
    });

    it('writes a reservation with all other changes of its append, or none of them', async () => {
      await store.append(HARBOUR, [reserve({ limitTenthsA: 60 })]);
      const before = await everything(store);
      const bad = put({ kind: 'location', locationId: RIVALS_ONLY });
      const append = store.append(HARBOUR, [reserve({ limitTenthsA: 70 }), begin('a'), minute(0), bad]);
      await expect(append).rejects.not.toBeInstanceOf(StoreUnavailableError);
      expect(await everything(store)).toEqual(before);
    });

    it('refuses reservations of a replaced owner', async () => {
      const epoch = await store.ownership.claim();
      await store.append(HARBOUR, [reserve({ limitTenthsA: 60 })]);
      const newer = await openStore(databaseUrl);
      expect(await newer.store.ownership.claim()).toBeGreaterThan(epoch);
      const late = store.append(HARBOUR, [reserve({ limitTenthsA: 320 }), begin('late'), minute(0)]);
      await expect(late).rejects.toBeInstanceOf(StoreUnavailableError);
      await newer.store.append(HARBOUR, [reserve({ connectorId: TWO, limitTenthsA: 100 })]);
      const { reservations, openAlarms } = await newer.store.loadTenant(HARBOUR);
      expect(reservations.map(({ limitTenthsA }) => limitTenthsA)).toEqual([60, 100]);
      expect(openAlarms).toEqual([]);
      await newer.store.close();
    });

    it('gives every claim a higher ownership term than all earlier ones, across restarts', async () => {
      const epochs: number[] = [];
      for (let i = 0; i < 3; i++) {
        epochs.push(await store.ownership.claim(), await store.ownership.claim());
        await reopen();
      }
      expect(epochs).toEqual([1, 2, 3, 4, 5, 6]);
    });
  });

  describe('An append for an unprovisioned object', () => {
    it.each([
      ['a reservation of an unknown charger', reserve({ controllerUuid: 'gone' as ControllerUuid })],
      ['a reservation of an unknown connector', reserve({ connectorId: '3' as ConnectorId })],
      ["a reservation of another tenant's connector", reserve({ controllerUuid: RIVAL_CRANE })],
      ['an alarm of an unknown location', begin('a', { locationId: GONE })],
      ["an alarm of another tenant's location", begin('a', { locationId: RIVALS_ONLY })],
      [
        'an alarm of an unknown connector',
        begin('a', { controllerUuid: CRANE, connectorId: '3' as ConnectorId }),
      ],
      [
        "an alarm of another tenant's connector",
        begin('a', { controllerUuid: RIVAL_CRANE, connectorId: ONE }),
      ],
      ['the end of an unknown alarm', end('gone', 5)],
      ['a minute of an unknown location', minute(0, { locationId: GONE })],
      ["a minute of another tenant's location", minute(0, { locationId: RIVALS_ONLY })],
    ])('leaves out %s and writes the other changes of its commit', async (_, change) => {
      const before = await everything(store);
      await store.append(HARBOUR, [change]);
      expect(await everything(store)).toEqual(before);
      for (const locationId of [GONE, RIVALS_ONLY]) expect(await powerOf(locationId)).toEqual([]);
      await reopen();
      await Promise.all([
        store.append(HARBOUR, [put(QUAY_TARGET)]),
        store.append(HARBOUR, [change, reserve(), begin('known'), minute(MINUTE_MS)]),
        store.append(HARBOUR, [put(QUAY_TARGET, { priority: 1 })]),
      ]);
      expect(await commits()).toBe(1);
      const { profiles, reservations, openAlarms } = await store.loadTenant(HARBOUR);
      expect(profiles).toHaveLength(2);
      expect(reservations).toEqual([reservation()]);
      expect(openAlarms).toEqual([alarm('known')]);
      expect((await powerOf()).map(({ atMs }) => atMs)).toEqual([MINUTE_MS]);
      expect((await everything(store)).rival).toEqual(before.rival);
    });
  });

  describe('section 5: one tenant cannot read or modify the data of another', () => {
    it('separates rows with the same ids', async () => {
      await store.append(RIVAL, [reserve(), begin('same'), minute(0)]);
      const { rival } = await everything(store);
      await store.append(HARBOUR, [
        reserve({ limitTenthsA: 320 }),
        begin('same', { reason: 'Another.' }),
        end('same', 2000),
        minute(0, { meanW: 9 }),
      ]);
      const after = await everything(store);
      expect(after.rival).toEqual(rival);
      expect(after.harbour).not.toEqual(rival);
      expect((await store.loadTenant(HARBOUR)).openAlarms).toEqual([]);
      expect((await store.loadTenant(RIVAL)).openAlarms).toEqual([alarm('same')]);
    });
  });

  describe('The revision for a running service', () => {
    it('is not changed by a reservation, an alarm or a minute of power', async () => {
      const before = await store.revisionSince(undefined);
      await store.append(HARBOUR, [reserve(), begin('a'), end('a', 2000), minute(0)]);
      await store.forgetPowerBefore(MINUTE_MS);
      expect(await store.revisionSince(before.revision)).toEqual({ ...before, tenants: [] });
    });
  });

  describe('The store of alarms', () => {
    it('returns open alarms after a restart, the oldest first', async () => {
      const ofConnector = { kind: 'OFFLINE', controllerUuid: CRANE, connectorId: TWO } as const;
      await store.append(HARBOUR, [
        begin('newer', { ...ofConnector, beganAtMs: NOON_MS + 1 }),
        begin('older', { beganAtMs: NOON_MS, reason: "It's 充電 ?" }),
        begin('over', { beganAtMs: NOON_MS }),
      ]);
      await store.append(HARBOUR, [end('over', NOON_MS + 5)]);
      await reopen();
      expect((await store.loadTenant(HARBOUR)).openAlarms).toEqual([
        alarm('older', { beganAtMs: NOON_MS, reason: "It's 充電 ?" }),
        alarm('newer', { ...ofConnector, beganAtMs: NOON_MS + 1 }),
      ]);
      expect(
        await store.read((trx) => readAlarms(trx, HARBOUR, { locationId: QUAY, window: ALL_TIME, count: 9 })),
      ).toEqual([
        alarm('newer', { ...ofConnector, beganAtMs: NOON_MS + 1 }),
        alarm('over', { beganAtMs: NOON_MS, endedAtMs: NOON_MS + 5 }),
        alarm('older', { beganAtMs: NOON_MS, reason: "It's 充電 ?" }),
      ]);
    });

    it('begins and ends an alarm once, also after repeated reports', async () => {
      await store.append(HARBOUR, [begin('a'), begin('a', { reason: 'Again.' })]);
      await store.append(HARBOUR, [begin('a', { reason: 'And again.' })]);
      expect((await store.loadTenant(HARBOUR)).openAlarms).toEqual([alarm('a')]);
      await store.append(HARBOUR, [end('a', 2000), end('a', 3000)]);
      await store.append(HARBOUR, [end('a', 4000)]);
      await store.append(HARBOUR, [begin('a', { beganAtMs: 5000 })]);
      expect((await store.loadTenant(HARBOUR)).openAlarms).toEqual([]);
      expect(
        await store.read((trx) =>
          readAlarms(trx, HARBOUR, { locationId: undefined, window: ALL_TIME, count: 9 }),
        ),
      ).toEqual([alarm('a', { endedAtMs: 2000 })]);
    });

    it('gives an open alarm another reason and keeps its first one', async () => {
      const change = (reason: string) => ({ kind: 'alarm.change', alarmId: 'a', reason }) as const;
      await store.append(HARBOUR, [begin('a'), change('Second.')]);
      await store.append(HARBOUR, [change('Third.'), change("It's the 4th?")]);
      await reopen();
      const { firstReason } = alarm('a');
      expect((await store.loadTenant(HARBOUR)).openAlarms).toEqual([
        alarm('a', { reason: "It's the 4th?", firstReason }),
      ]);
      await store.append(HARBOUR, [change('Last.'), end('a', 2000), change('Late.')]);
      await store.append(HARBOUR, [change('Too late.')]);
      const [ended] = await store.read((trx) =>
        readAlarms(trx, HARBOUR, { locationId: QUAY, window: ALL_TIME, count: 9 }),
      );
      expect(ended).toMatchObject({ firstReason, endedAtMs: 2000 });
      expect(ended?.reason).not.toBe('Too late.');
    });

    it('ends an alarm in the commit in which it began', async () => {
      await Promise.all([
        store.append(HARBOUR, [begin('a')]),
        store.append(HARBOUR, [end('a', 2000), begin('b')]),
      ]);
      expect(await commits()).toBe(1);
      expect((await store.loadTenant(HARBOUR)).openAlarms).toEqual([alarm('b')]);
    });

    it.each([
      ['before it', { beganAtMs: 500, endedAtMs: 900 }, false],
      ['until it begins', { beganAtMs: 500, endedAtMs: 1000 }, false],
      ['into it', { beganAtMs: 500, endedAtMs: 1001 }, true],
      ['throughout it', { beganAtMs: 500, endedAtMs: 5000 }, true],
      ['from before it until now', { beganAtMs: 500, endedAtMs: null }, true],
      ['inside it', { beganAtMs: 1200, endedAtMs: 1500 }, true],
      ['for no time at its beginning', { beganAtMs: 1000, endedAtMs: 1000 }, true],
      ['to before its beginning, because the clock went back', { beganAtMs: 1999, endedAtMs: 900 }, true],
      ['from its last millisecond on', { beganAtMs: 1999, endedAtMs: null }, true],
      ['from its end on', { beganAtMs: 2000, endedAtMs: null }, false],
    ])('lists inside a window an alarm that lasted %s: %o, %s', async (_, lasted, isListed) => {
      await store.append(HARBOUR, [begin('a', lasted)]);
      const window = { startsAtMs: 1000, endsAtMs: 2000 };
      expect(await alarmIds({ window })).toEqual(isListed ? ['a'] : []);
      expect(await alarmIds({ window, locationId: QUAY })).toEqual(isListed ? ['a'] : []);
      expect(await alarmIds({ window, locationId: PIER })).toEqual([]);
    });

    it('lists the newest alarms first, up to the given count, of one location or of all', async () => {
      await store.append(HARBOUR, [
        begin('quay-1', { beganAtMs: 1 }),
        begin('pier-2', { beganAtMs: 2, locationId: PIER }),
        begin('quay-3b', { beganAtMs: 3 }),
        begin('quay-3a', { beganAtMs: 3, endedAtMs: 4 }),
        begin('pier-4', { beganAtMs: 4, locationId: PIER }),
      ]);
      expect(await alarmIds()).toEqual(['pier-4', 'quay-3b', 'quay-3a', 'pier-2', 'quay-1']);
      expect(await alarmIds({ count: 2 })).toEqual(['pier-4', 'quay-3b']);
      expect(await alarmIds({ locationId: QUAY, count: 2 })).toEqual(['quay-3b', 'quay-3a']);
      expect(await alarmIds({ locationId: PIER })).toEqual(['pier-4', 'pier-2']);
    });
  });

  describe('The store of measured power', () => {
    it('returns minutes unchanged, the last version of each', async () => {
      const odd = {
        meanW: 1234.5678901234567,
        maxW: 0.1,
        estimatedW: 0.30000000000000004,
        limitW: 61_706.50183763426,
        meanLimitW: 0.7,
        currents: { meanTenthsA: [320, 0, 1], maxTenthsA: [100_000, 0, 2] },
        building: { meanW: -0.1, maxW: 12_345.6789, meanReserveW: 4_000.5 },
      } as const;
      await store.append(HARBOUR, [minute(NOON_MS), minute(NOON_MS + MINUTE_MS), minute(NOON_MS, odd)]);
      await store.append(HARBOUR, [minute(NOON_MS + MINUTE_MS, { meanW: 7 })]);
      await reopen();
      expect(await powerOf()).toEqual([
        { atMs: NOON_MS, ...odd },
        {
          atMs: NOON_MS + MINUTE_MS,
          meanW: 7,
          maxW: 2000,
          estimatedW: null,
          limitW: 50_000,
          meanLimitW: 60_000,
          currents: null,
          building: null,
        },
      ]);
      expect(await powerOf(PIER)).toEqual([]);
    });

    it('combines minutes into steps from the start of the window: means, highest power, lowest limit', async () => {
      const startsAtMs = NOON_MS - 2 * MINUTE_MS;
      await store.append(
        HARBOUR,
        [-3, -2, -1, 0, 7, 8, 10].map((nth) =>
          minute(NOON_MS + nth * MINUTE_MS, {
            meanW: nth,
            maxW: 100 - nth,
            limitW: 1000 + nth,
            meanLimitW: 2000 + nth,
            // Two minutes of the first step: one is wholly measured.
            estimatedW: nth < 0 ? 3 * nth : null,
          }),
        ),
      );
      await store.append(HARBOUR, [minute(NOON_MS, { locationId: PIER, maxW: 99_999 })]);
      const window = { startsAtMs, endsAtMs: NOON_MS + 10 * MINUTE_MS };
      expect(await powerOf(QUAY, window, 5 * MINUTE_MS)).toEqual([
        {
          atMs: startsAtMs,
          meanW: -1,
          maxW: 102,
          estimatedW: -3,
          limitW: 998,
          meanLimitW: 1999,
          currents: null,
          building: null,
        },
        {
          atMs: startsAtMs + 5 * MINUTE_MS,
          meanW: 7,
          maxW: 93,
          estimatedW: null,
          limitW: 1007,
          meanLimitW: 2007,
          currents: null,
          building: null,
        },
        {
          atMs: startsAtMs + 10 * MINUTE_MS,
          meanW: 8,
          maxW: 92,
          estimatedW: null,
          limitW: 1008,
          meanLimitW: 2008,
          currents: null,
          building: null,
        },
      ]);
    });

    it('combines currents into the mean of means and the highest, and skips minutes without any', async () => {
      await store.append(HARBOUR, [
        minute(NOON_MS, { currents: { meanTenthsA: [10, 20, 0], maxTenthsA: [15, 320, 1] } }),
        minute(NOON_MS + MINUTE_MS),
        minute(NOON_MS + 2 * MINUTE_MS, { currents: { meanTenthsA: [20, 0, 0], maxTenthsA: [25, 0, 0] } }),
      ]);
      const window = { startsAtMs: NOON_MS, endsAtMs: NOON_MS + 3 * MINUTE_MS };
      expect(await powerOf(QUAY, window, 3 * MINUTE_MS)).toMatchObject([
        { currents: { meanTenthsA: [15, 10, 0], maxTenthsA: [25, 320, 1] } },
      ]);
    });

    it('combines the currents of a feeder of any name in the same way', async () => {
      const odd = 'a "b" $.c, d';
      const through = (name: string, mean: number, max: number) =>
        ({ name, meanTenthsA: [mean, 0, 1], maxTenthsA: [max, 0, 2] }) as const;
      await store.append(HARBOUR, [
        minute(NOON_MS, { feeders: [through('hall', 10, 15), through(odd, 4, 5)] }),
        minute(NOON_MS + MINUTE_MS),
        minute(NOON_MS + 2 * MINUTE_MS, { feeders: [through('hall', 20, 320)] }),
      ]);
      const window = { startsAtMs: NOON_MS, endsAtMs: NOON_MS + 3 * MINUTE_MS };
      const currentsOf = async (feeder: string) =>
        (await store.read((trx) => readPowerHistory(trx, HARBOUR, QUAY, window, 3 * MINUTE_MS, feeder))).map(
          ({ currents }) => currents,
        );
      expect(await currentsOf('hall')).toEqual([{ meanTenthsA: [15, 0, 1], maxTenthsA: [320, 0, 2] }]);
      expect(await currentsOf(odd)).toEqual([{ meanTenthsA: [4, 0, 1], maxTenthsA: [5, 0, 2] }]);
      expect(await currentsOf('roof')).toEqual([null]);
    });

    it('combines building load into the mean of means and the highest, and skips minutes without a meter', async () => {
      await store.append(HARBOUR, [
        minute(NOON_MS, { building: { meanW: 10, maxW: 40, meanReserveW: 5 } }),
        minute(NOON_MS + MINUTE_MS),
        minute(NOON_MS + 2 * MINUTE_MS, { building: { meanW: 20, maxW: 30, meanReserveW: 2 } }),
      ]);
      const window = { startsAtMs: NOON_MS, endsAtMs: NOON_MS + 3 * MINUTE_MS };
      expect(await powerOf(QUAY, window, 3 * MINUTE_MS)).toMatchObject([
        { building: { meanW: 15, maxW: 40, meanReserveW: 3.5 } },
      ]);
    });

    it('counts a minute to the step in which it begins if the window begins inside a minute', async () => {
      await store.append(
        HARBOUR,
        [0, 1, 2, 3].map((nth) => minute(NOON_MS + nth * MINUTE_MS, { meanW: nth })),
      );
      const window = { startsAtMs: NOON_MS + 1, endsAtMs: NOON_MS + 3 * MINUTE_MS };
      expect(await powerOf(QUAY, window, 2 * MINUTE_MS)).toEqual([
        {
          atMs: NOON_MS + 1,
          meanW: 1.5,
          maxW: 2000,
          estimatedW: null,
          limitW: 50_000,
          meanLimitW: 60_000,
          currents: null,
          building: null,
        },
      ]);
    });

    it('deletes older minutes of all tenants, and nothing else', async () => {
      const changes = [
        put(QUAY_TARGET),
        reserve(),
        begin('a', { beganAtMs: 0 }),
        ...[0, 1, 2].map((nth) => minute(nth * MINUTE_MS)),
      ];
      await store.append(HARBOUR, changes);
      await store.append(RIVAL, changes);
      const before = await everything(store);
      await store.forgetPowerBefore(MINUTE_MS);
      const after = await everything(store);
      for (const tenantOf of ['harbour', 'rival'] as const) {
        const [rest, power] = [before[tenantOf].slice(0, -1), before[tenantOf].at(-1)];
        expect(power).toHaveLength(3);
        expect(after[tenantOf].slice(0, -1)).toEqual(rest);
        expect(after[tenantOf].at(-1)).toEqual(Array.isArray(power) ? power.slice(1) : undefined);
      }
    });

    it('accepts a write while it deletes minutes in several batches', async () => {
      const minutes = Array.from({ length: 12_000 }, (_, nth) => minute(nth * MINUTE_MS));
      await store.append(HARBOUR, minutes);
      const order: string[] = [];
      await Promise.all([
        store.forgetPowerBefore(11_999 * MINUTE_MS).then(() => order.push('forgotten')),
        store.append(HARBOUR, [put(QUAY_TARGET)]).then(() => order.push('written')),
      ]);
      expect(order).toEqual(['written', 'forgotten']);
      expect((await powerOf()).map(({ atMs }) => atMs)).toEqual([11_999 * MINUTE_MS]);
    });

    it('refuses to delete after it is closed', async () => {
      await store.append(HARBOUR, [minute(0)]);
      await store.close();
      await expect(store.forgetPowerBefore(MINUTE_MS)).rejects.toBeInstanceOf(StoreUnavailableError);
      ({ store, metrics } = await openStore(databaseUrl));
      expect(await powerOf()).toHaveLength(1);
    });
  });
}
