// The contract of every database behind the Store port: one test file for each engine runs it.

import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { QUARTER_MS } from '../../../machines/power/energy-count.js';
import type { ClusterId, ConnectorId, ControllerUuid, LocationId } from '../../../machines/values/ids.js';
import { createVirtualClock } from '../../../sim/virtual-clock.js';
import { readAnswer } from '../../../src/features/answers/rows.js';
import type { Group } from '../../../src/features/energy/contract.js';
import { readEnergyOfDays, readEnergyOfQuarters } from '../../../src/features/energy/rows.js';
import { readEvents } from '../../../src/features/events/rows.js';
import { readConnectorPower } from '../../../src/features/power-history/connector-rows.js';
import {
  readPermanentLimits,
  readProfileHistory,
  readProfilesAt,
} from '../../../src/features/profiles/rows.js';
import { readSessions } from '../../../src/features/sessions/rows.js';
import {
  loadDeadLetters,
  loadDueLetters,
  loadLanes,
  loadWebhooks,
} from '../../../src/features/webhooks/rows.js';
import { openDatabase } from '../../../src/outbound/knex/connection.js';
import { migrate } from '../../../src/outbound/knex/database.js';
import { MIGRATIONS } from '../../../src/outbound/knex/migrations.js';
import type { CredentialRecord } from '../../../src/ports/credentials.js';
import { EVENT_TYPES } from '../../../src/ports/records.js';
import { AnsweredAlreadyError, type Store, StoreUnavailableError } from '../../../src/ports/store.js';
import type { DatabaseServer } from './database-server.js';
import {
  ALL_TIME,
  alarm,
  begin,
  CRANE,
  CRANE_TARGET,
  cancel,
  cluster,
  end,
  everything,
  HARBOUR,
  HARBOUR_TENANT,
  location,
  ORGANIZATION,
  openStore,
  PIER,
  provisionAll,
  put,
  QUAY,
  QUAY_TARGET,
  RIVAL,
  RIVAL_TENANT,
  RIVALS_ONLY,
  tenant,
} from './harbour.js';

const YEAR_9999_MS = Date.parse('9999-12-31T23:59:59.999Z');

const WEBHOOK = {
  webhookId: 'hook',
  mailTo: null,
  url: 'https://receiver.invalid/',
  types: ['alarm.began' as const],
  locationIds: [QUAY],
  secret: 'whsec_AAAA',
  previousSecret: { secret: 'whsec_BBBB', untilMs: 2_000_000_000_000 },
  createdAtMs: 1_780_000_000_000,
  createdBy: 'apiKey:one',
  updatedAtMs: 1_780_000_000_000,
};

/** Tests of the contract; `server` may be called only in hooks and tests, once it has started. */
export function describeStore(server: () => DatabaseServer): void {
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

  async function reopen(journal = {}): Promise<void> {
    await store.close();
    ({ store, metrics } = await openStore(databaseUrl, journal));
  }

  const answer = (keyHash: string, atMs: number) => ({ keyHash, requestHash: 'r', sealed: 's', atMs });
  const answerOf = (keyHash: string, tenantUuid = HARBOUR, now = 1_780_000_000_002) =>
    store.read((trx) => readAnswer(trx, tenantUuid, keyHash, now));

  describe('credentials of a tenant', () => {
    function keyRecord(id: string, over: Partial<CredentialRecord> = {}): CredentialRecord {
      return {
        kind: 'apiKey',
        id,
        tenantUuid: HARBOUR,
        secretHash: 'hash',
        scopes: ['org:write'],
        expiresAtMs: YEAR_9999_MS,
        endedAtMs: null,
        name: "It's 充電",
        createdAtMs: YEAR_9999_MS,
        createdBy: 'apiKey:k1',
        endedBy: null,
        lastUsedAtMs: null,
        ...over,
      };
    }

    const add = (credential: CredentialRecord) =>
      store.changeCredentials(credential.tenantUuid, () => [{ type: 'add', credential }]);

    it('are added with their history, ended and deleted within their tenant, and visible to other processes', async () => {
      const { revision } = await store.revisionSince(undefined);
      const key = keyRecord('k1');
      const client = keyRecord('c1', { kind: 'client' });
      const foreign = keyRecord('k2', { tenantUuid: RIVAL });
      for (const credential of [key, client, foreign]) await add(credential);
      await reopen();
      expect(await store.tenantCredentials(HARBOUR)).toEqual([key, client]);
      const ended = { ...key, endedAtMs: 7, endedBy: 'client:c1' };
      await store.changeCredentials(HARBOUR, () => [
        { type: 'end', credential: ended },
        { type: 'forget', credential: client },
      ]);
      expect(await store.tenantCredentials(HARBOUR)).toEqual([ended]);
      expect(await store.tenantCredentials(RIVAL)).toEqual([foreign]);
      expect(await store.revisionSince(revision)).toMatchObject({ credentialsChanged: true, tenants: [] });
      const { credentials } = await store.loadCredentials();
      expect(credentials).toEqual([ended, foreign]);
    });

    it('are changed in sequence: each change starts from the result of earlier ones', async () => {
      const add = (id: string) =>
        store.changeCredentials(HARBOUR, (held) =>
          held.length === 0 ? [{ type: 'add', credential: keyRecord(id) }] : [],
        );
      const { store: other } = await openStore(databaseUrl);
      await Promise.all([add('k1'), add('k2'), add('k3')]);
      expect(await store.tenantCredentials(HARBOUR)).toHaveLength(1);
      expect(await other.tenantCredentials(HARBOUR)).toHaveLength(1);
      await other.close();
    });

    it('stay unchanged if the change is refused, or another store has claimed the database', async () => {
      const refused = store.changeCredentials(HARBOUR, () => {
        throw new RangeError('no');
      });
      await expect(refused).rejects.toThrow(RangeError);
      await store.ownership.claim();
      const { store: other } = await openStore(databaseUrl);
      await other.ownership.claim();
      await expect(add(keyRecord('k1'))).rejects.toThrow(StoreUnavailableError);
      expect(await other.tenantCredentials(HARBOUR)).toEqual([]);
      await other.close();
    });

    it('keep their newest use, in any order of uses', async () => {
      await add(keyRecord('k1'));
      const use = { kind: 'apiKey', id: 'k1', tenantUuid: HARBOUR } as const;
      for (const usedAtMs of [5, YEAR_9999_MS, 6])
        await store.noteCredentialUses([
          { ...use, usedAtMs },
          { ...use, id: 'gone', usedAtMs },
        ]);
      expect(await store.tenantCredentials(HARBOUR)).toMatchObject([{ lastUsedAtMs: YEAR_9999_MS }]);
    });

    it('of a release without history stay unchanged, with an unknown history', async () => {
      await add(keyRecord('k1'));
      await store.close();
      const knex = openDatabase(databaseUrl);
      await knex('api_keys').update({ name: null, created_at_ms: null, created_by: null });
      await knex.destroy();
      ({ store, metrics } = await openStore(databaseUrl));
      const unknown = { name: null, createdAtMs: null, createdBy: null, endedBy: null, lastUsedAtMs: null };
      expect(await store.tenantCredentials(HARBOUR)).toEqual([keyRecord('k1', unknown)]);
    });
  });

  describe('A replaced owner', () => {
    it('has its writes refused, and is no longer reported as the owner', async () => {
      await store.ownership.claim();
      await store.append(HARBOUR, [put(QUAY_TARGET, { priority: 1 })]);
      expect(await store.isOwner()).toBe(true);
      const newer = await openStore(databaseUrl);
      await newer.store.ownership.claim();
      expect(await store.isOwner()).toBe(false);
      await expect(store.append(HARBOUR, [put(QUAY_TARGET, { priority: 2 })])).rejects.toBeInstanceOf(
        StoreUnavailableError,
      );
      await newer.store.append(HARBOUR, [put(QUAY_TARGET, { priority: 3 })]);
      const { profiles } = await newer.store.loadTenant(HARBOUR);
      expect(profiles.map(({ priority }) => priority)).toEqual([1, 3]);
      await newer.store.close();
    });
  });

  describe('The store of tenant data', () => {
    it('returns profiles of locations, connectors and the organization after a restart', async () => {
      await store.append(HARBOUR, [put(QUAY_TARGET, { priority: 10 }), put(QUAY_TARGET, { priority: 2 })]);
      await store.append(HARBOUR, [put(CRANE_TARGET), put(ORGANIZATION)]);
      await reopen();
      const { profiles } = await store.loadTenant(HARBOUR);
      expect(profiles.map(({ target, priority }) => ({ target, priority }))).toEqual([
        { target: ORGANIZATION, priority: 0 },
        { target: CRANE_TARGET, priority: 0 },
        { target: QUAY_TARGET, priority: 2 },
        { target: QUAY_TARGET, priority: 10 },
      ]);
    });

    it('returns locations with their connectors and clusters with their members in order', async () => {
      const created = cluster('c-1', [QUAY, PIER], { limitKw: 12.5 });
      const changed = cluster('c-1', [PIER, QUAY], { name: 'Renamed', status: 'INACTIVE', updatedAtMs: 7 });
      await store.append(HARBOUR, [{ kind: 'cluster.put', cluster: created }]);
      await store.append(HARBOUR, [{ kind: 'cluster.put', cluster: changed }]);
      await reopen();
      const state = await store.loadTenant(HARBOUR);
      expect(state.clusters).toEqual([changed]);
      expect(state.locations.map(({ locationId }) => locationId)).toEqual([PIER, QUAY]);
      expect(state.locations[1]).toEqual({
        locationId: QUAY,
        name: 'Location quay-1',
        status: 'ACTIVE',
        permanentLimitKw: 50,
        gridLimitKw: 80,
        operator: null,
        siteMeter: null,
        limitRules: {},
        policy: 'equal',
        departures: null,
        timeZone: null,
        connection: null,
        feeders: [],
        connectors: ['1', '2'].map((connectorId) => ({
          controllerUuid: CRANE,
          connectorId,
          status: 'ACTIVE',
          phases: 3,
          voltageV: 230,
          maxCurrentA: 32,
          failsafeA: 6,
          dc: null,
          neverPause: false,
          operatorMayPause: false,
          departures: null,
          rotation: null,
          timing: null,
          feeder: null,
        })),
      });
    });

    it('deletes a cluster and leaves its members and other clusters unchanged', async () => {
      const kept = cluster('kept', [QUAY]);
      await store.append(HARBOUR, [
        { kind: 'cluster.put', cluster: cluster('gone', [QUAY, PIER]) },
        { kind: 'cluster.put', cluster: kept },
      ]);
      await store.append(HARBOUR, [{ kind: 'cluster.delete', clusterId: 'gone' as ClusterId, atMs: 3 }]);
      const state = await store.loadTenant(HARBOUR);
      expect(state.clusters).toEqual([kept]);
      expect(state.locations).toHaveLength(2);
    });

    it.each([0.1, 1e9, 0.30000000000000004, 61.70650183763426, 0.911831943683099, 1e-300, 1e300])(
      'keeps every bit of a limit of %d kW',
      async (limitKw) => {
        await store.append(HARBOUR, [
          put(QUAY_TARGET, { limitKw, endsAtMs: YEAR_9999_MS }),
          { kind: 'permanentLimit.set', locationId: QUAY, limitKw, atMs: YEAR_9999_MS },
          { kind: 'cluster.put', cluster: cluster('c', [QUAY], { limitKw, updatedAtMs: YEAR_9999_MS }) },
        ]);
        const state = await store.loadTenant(HARBOUR);
        expect(state.profiles[0]).toMatchObject({ limitKw, endsAtMs: YEAR_9999_MS });
        expect(state.locations.find(({ locationId }) => locationId === QUAY)?.permanentLimitKw).toBe(limitKw);
        expect(state.clusters[0]).toMatchObject({ limitKw, updatedAtMs: YEAR_9999_MS });
      },
    );

    it.each([
      '"; drop table clusters; --',
      "O'Hara ??",
      '⚡️ 充電 \\u0000 \\',
      '\u0001\u2400\u202e',
      '?',
      '$1 :a @b',
    ])('keeps the name %j unchanged', async (name) => {
      await store.append(HARBOUR, [{ kind: 'cluster.put', cluster: cluster('c', [QUAY], { name }) }]);
      expect((await store.loadTenant(HARBOUR)).clusters[0]?.name).toBe(name);
    });

    it('treats __proto__ and constructor as plain ids', async () => {
      const locationId = '__proto__' as LocationId;
      const charger = 'constructor';
      const hostile = tenant(HARBOUR, [location(locationId, [charger, '__proto__'])]);
      await provisionAll(databaseUrl, [hostile]);
      const target = { kind: 'location', locationId } as const;
      await store.append(HARBOUR, [
        put(target),
        { kind: 'permanentLimit.set', locationId, limitKw: 7, atMs: 2 },
        { kind: 'cluster.put', cluster: cluster('__proto__', [locationId]) },
      ]);
      const state = await store.loadTenant(HARBOUR);
      const held = state.locations.find((each) => each.locationId === locationId);
      expect(held?.permanentLimitKw).toBe(7);
      expect(new Set(held?.connectors.map((each) => each.controllerUuid))).toEqual(
        new Set([charger, '__proto__']),
      );
      expect(state.profiles).toEqual([expect.objectContaining({ target })]);
      expect(state.clusters[0]?.locationIds).toEqual([locationId]);
    });
  });

  describe('section 1: profile records are never deleted', () => {
    it('keeps a replaced profile as history and only the newest in its slot', async () => {
      await store.append(HARBOUR, [put(QUAY_TARGET, { limitKw: 10, atMs: 100 })]);
      await store.append(HARBOUR, [put(QUAY_TARGET, { limitKw: 20, atMs: 200 })]);
      const { profiles } = await store.loadTenant(HARBOUR);
      expect(profiles.map(({ limitKw }) => limitKw)).toEqual([20]);
      const history = await store.read((trx) => readProfileHistory(trx, HARBOUR, QUAY_TARGET, ALL_TIME));
      expect(history).toMatchObject([
        { limitKw: 10, submittedAtMs: 100, supersededAtMs: 200 },
        { limitKw: 20, submittedAtMs: 200, supersededAtMs: null },
      ]);
    });

    it('supersedes profiles within one append', async () => {
      const three = [10, 20, 30].map((limitKw) => put(QUAY_TARGET, { limitKw, atMs: limitKw }));
      await store.append(HARBOUR, three);
      expect((await store.loadTenant(HARBOUR)).profiles).toMatchObject([{ limitKw: 30 }]);
      expect(
        await store.read((trx) => readProfileHistory(trx, HARBOUR, QUAY_TARGET, ALL_TIME)),
      ).toMatchObject([
        { limitKw: 10, supersededAtMs: 20 },
        { limitKw: 20, supersededAtMs: 30 },
        { limitKw: 30, supersededAtMs: null },
      ]);
    });

    it('keeps the last of a hundred profiles put into one slot at once', async () => {
      await store.append(HARBOUR, [put(QUAY_TARGET, { limitKw: 999, atMs: 0 })]);
      const limits = Array.from({ length: 100 }, (_, i) => i + 1);
      await Promise.all(
        limits.map((limitKw) => store.append(HARBOUR, [put(QUAY_TARGET, { limitKw, atMs: limitKw })])),
      );
      expect((await store.loadTenant(HARBOUR)).profiles).toMatchObject([{ limitKw: 100 }]);
      const history = await store.read((trx) => readProfileHistory(trx, HARBOUR, QUAY_TARGET, ALL_TIME));
      expect(history.map(({ limitKw, supersededAtMs }) => [limitKw, supersededAtMs])).toEqual([
        [999, 1],
        ...limits.map((limitKw) => [limitKw, limitKw === 100 ? null : limitKw + 1]),
      ]);
    });

    it('keeps one profile in a slot into which two services put', async () => {
      const { store: other } = await openStore(databaseUrl);
      const puts = Array.from({ length: 40 }, (_, i) =>
        (i % 2 === 0 ? store : other).append(HARBOUR, [put(QUAY_TARGET, { limitKw: i + 1, atMs: i })]),
      );
      await Promise.all(puts);
      await other.close();
      const history = await store.read((trx) => readProfileHistory(trx, HARBOUR, QUAY_TARGET, ALL_TIME));
      expect(history).toHaveLength(puts.length);
      expect(history.filter(({ supersededAtMs }) => supersededAtMs === null)).toHaveLength(1);
      expect((await store.loadTenant(HARBOUR)).profiles).toHaveLength(1);
    });

    it('keeps a cancelled profile as history, and nothing in its slot', async () => {
      await store.append(HARBOUR, [
        put(QUAY_TARGET, { limitKw: 10, atMs: 100 }),
        put(QUAY_TARGET, { priority: 1, atMs: 100 }),
        put(CRANE_TARGET, { atMs: 100 }),
        put(ORGANIZATION, { atMs: 100 }),
      ]);
      await store.append(RIVAL, [put(QUAY_TARGET, { atMs: 100 })]);
      await store.append(HARBOUR, [cancel(QUAY_TARGET, 0, 200)]);
      await reopen();
      const { profiles } = await store.loadTenant(HARBOUR);
      expect(profiles.map(({ target, priority }) => ({ target, priority }))).toEqual([
        { target: ORGANIZATION, priority: 0 },
        { target: CRANE_TARGET, priority: 0 },
        { target: QUAY_TARGET, priority: 1 },
      ]);
      expect(
        await store.read((trx) => readProfileHistory(trx, HARBOUR, QUAY_TARGET, ALL_TIME)),
      ).toMatchObject([
        { limitKw: 10, submittedAtMs: 100, supersededAtMs: 200 },
        { priority: 1, supersededAtMs: null },
      ]);
      expect(
        (await store.read((trx) => readProfilesAt(trx, HARBOUR, QUAY_TARGET, 199))).map(
          ({ priority }) => priority,
        ),
      ).toEqual([0, 1]);
      expect(
        (await store.read((trx) => readProfilesAt(trx, HARBOUR, QUAY_TARGET, 200))).map(
          ({ priority }) => priority,
        ),
      ).toEqual([1]);
      expect((await store.loadTenant(RIVAL)).profiles).toHaveLength(1);
      await store.append(HARBOUR, [cancel(CRANE_TARGET), cancel(ORGANIZATION)]);
      expect((await store.loadTenant(HARBOUR)).profiles).toHaveLength(1);
    });

    it('puts and cancels in the order of the calls, also within a shared commit', async () => {
      await store.append(HARBOUR, [put(QUAY_TARGET, { limitKw: 1, atMs: 1 })]);
      await Promise.all(
        [
          [cancel(QUAY_TARGET, 0, 2)],
          [cancel(QUAY_TARGET, 0, 3)],
          [put(QUAY_TARGET, { limitKw: 4, atMs: 4 })],
          [cancel(QUAY_TARGET, 0, 5), put(QUAY_TARGET, { limitKw: 6, atMs: 6 })],
          [put(QUAY_TARGET, { priority: 7, limitKw: 7, atMs: 7 }), cancel(QUAY_TARGET, 7, 8)],
          [cancel(QUAY_TARGET, 9, 9)],
        ].map((changes) => store.append(HARBOUR, changes)),
      );
      const history = await store.read((trx) => readProfileHistory(trx, HARBOUR, QUAY_TARGET, ALL_TIME));
      expect(history.map(({ limitKw, supersededAtMs }) => [limitKw, supersededAtMs])).toEqual([
        [1, 2],
        [4, 5],
        [6, null],
        [7, 8],
      ]);
      expect((await store.loadTenant(HARBOUR)).profiles).toMatchObject([{ limitKw: 6 }]);
    });

    it('returns the history of windows that overlap the requested one, bounds excluded', async () => {
      await store.append(HARBOUR, [
        put(QUAY_TARGET, { limitKw: 1, startsAtMs: 1000, endsAtMs: 2000 }),
        put(QUAY_TARGET, { limitKw: 2, startsAtMs: 2000, endsAtMs: 3000 }),
        put(QUAY_TARGET, { limitKw: 3, startsAtMs: 3000, endsAtMs: 4000 }),
        put(QUAY_TARGET, { limitKw: 4, startsAtMs: 500, endsAtMs: 5000 }),
      ]);
      const met = await store.read((trx) =>
        readProfileHistory(trx, HARBOUR, QUAY_TARGET, { startsAtMs: 2000, endsAtMs: 3000 }),
      );
      expect(met.map(({ limitKw }) => limitKw)).toEqual([2, 4]);
    });

    it('returns every permanent limit of a location, the provisioned one first', async () => {
      const set = (limitKw: number, atMs: number) =>
        ({ kind: 'permanentLimit.set', locationId: QUAY, limitKw, atMs }) as const;
      await store.append(HARBOUR, [set(30, 10), set(20, 20)]);
      await store.append(HARBOUR, [set(40, 30)]);
      expect(await store.read((trx) => readPermanentLimits(trx, HARBOUR, QUAY))).toEqual([
        { limitKw: 50, setAtMs: 1 },
        { limitKw: 30, setAtMs: 10 },
        { limitKw: 20, setAtMs: 20 },
        { limitKw: 40, setAtMs: 30 },
      ]);
      const { locations } = await store.loadTenant(HARBOUR);
      expect(locations.map(({ permanentLimitKw }) => permanentLimitKw)).toEqual([50, 40]);
    });

    it('returns the profiles in each slot at an instant, from the millisecond of their submission', async () => {
      await store.append(HARBOUR, [put(QUAY_TARGET, { limitKw: 10, priority: 1, atMs: 100 })]);
      await store.append(HARBOUR, [put(QUAY_TARGET, { limitKw: 7, priority: 2, atMs: 150 })]);
      await store.append(HARBOUR, [put(QUAY_TARGET, { limitKw: 20, priority: 1, atMs: 200 })]);
      await store.append(HARBOUR, [put(CRANE_TARGET, { limitKw: 99, atMs: 100 })]);
      const limitsAt = async (atMs: number) =>
        (await store.read((trx) => readProfilesAt(trx, HARBOUR, QUAY_TARGET, atMs))).map(
          ({ limitKw }) => limitKw,
        );
      expect(await limitsAt(99)).toEqual([]);
      expect(await limitsAt(100)).toEqual([10]);
      expect(await limitsAt(199)).toEqual([10, 7]);
      expect(await limitsAt(200)).toEqual([7, 20]);
      expect(await limitsAt(Number.MAX_SAFE_INTEGER)).toEqual([7, 20]);
      expect(await store.read((trx) => readProfilesAt(trx, RIVAL, QUAY_TARGET, 199))).toEqual([]);
    });

    it('returns history page by page', async () => {
      const limits = [1, 2, 3, 4, 5];
      await store.append(
        HARBOUR,
        limits.flatMap((limitKw) => [
          put(QUAY_TARGET, { limitKw }),
          { kind: 'permanentLimit.set', locationId: QUAY, limitKw, atMs: limitKw } as const,
        ]),
      );
      const page = { offset: 2, count: 2 };
      expect(
        await store.read((trx) => readProfileHistory(trx, HARBOUR, QUAY_TARGET, ALL_TIME, page)),
      ).toMatchObject([{ limitKw: 3 }, { limitKw: 4 }]);
      // The provisioned limit comes first.
      expect(
        await store.read((trx) => readPermanentLimits(trx, HARBOUR, QUAY, ALL_TIME, page)),
      ).toMatchObject([{ limitKw: 2 }, { limitKw: 3 }]);
    });

    it('returns the permanent limits of a span, and the one in force at its begin', async () => {
      const set = (limitKw: number, atMs: number) =>
        ({ kind: 'permanentLimit.set', locationId: QUAY, limitKw, atMs }) as const;
      await store.append(HARBOUR, [set(30, 10), set(20, 20), set(40, 30)]);
      const between = async (startsAtMs: number, endsAtMs: number) =>
        (await store.read((trx) => readPermanentLimits(trx, HARBOUR, QUAY, { startsAtMs, endsAtMs }))).map(
          ({ limitKw }) => limitKw,
        );
      expect(await between(15, 30)).toEqual([30, 20]);
      expect(await between(20, 31)).toEqual([20, 40]);
      expect(await between(1000, 2000)).toEqual([40]);
      expect(await between(-10, 0)).toEqual([]);
    });
  });

  describe('section 5: one tenant cannot read or modify the data of another', () => {
    it('writes to ids of both tenants only for the tenant of the call', async () => {
      const before = await everything(store);
      await store.append(HARBOUR, [
        put(QUAY_TARGET),
        put(CRANE_TARGET),
        put(ORGANIZATION),
        { kind: 'permanentLimit.set', locationId: QUAY, limitKw: 1, atMs: 2 },
        { kind: 'cluster.put', cluster: cluster('same', [QUAY]) },
      ]);
      expect((await everything(store)).rival).toEqual(before.rival);
      await store.append(RIVAL, [{ kind: 'cluster.put', cluster: cluster('same', [RIVALS_ONLY]) }]);
      await store.append(RIVAL, [{ kind: 'cluster.delete', clusterId: 'same' as ClusterId, atMs: 3 }]);
      expect((await store.loadTenant(HARBOUR)).clusters).toEqual([cluster('same', [QUAY])]);
    });

    it.each([
      ['a profile at its location', put({ kind: 'location', locationId: RIVALS_ONLY })],
      [
        'a profile at its connector',
        put({ ...CRANE_TARGET, kind: 'connector', controllerUuid: 'rival-crane' as ControllerUuid } as never),
      ],
      [
        'a permanent limit of its location',
        { kind: 'permanentLimit.set', locationId: RIVALS_ONLY, limitKw: 1, atMs: 2 } as const,
      ],
      [
        'a cluster with its location',
        { kind: 'cluster.put', cluster: cluster('c', [QUAY, RIVALS_ONLY]) } as const,
      ],
    ])('refuses %s and changes nothing', async (_, change) => {
      const before = await everything(store);
      await expect(store.append(HARBOUR, [change])).rejects.toThrow();
      expect(await everything(store)).toEqual(before);
    });

    it('keeps the newest count of the billed window, for locations of the tenant only', async () => {
      const count = (locationId: LocationId, usedWs: number) =>
        ({
          kind: 'billedWindow.put',
          billedWindow: {
            locationId,
            startsAtMs: 1_780_300_800_000,
            usedWs,
            countedUntilMs: 1_780_300_860_123,
          },
        }) as const;
      await store.append(HARBOUR, [count(QUAY, 1.5)]);
      await store.append(HARBOUR, [count(QUAY, 0.1 + 0.2), count(RIVALS_ONLY, 7)]);
      const { billedWindows } = await store.loadTenant(HARBOUR);
      expect(billedWindows).toEqual([count(QUAY, 0.1 + 0.2).billedWindow]);
      expect((await store.loadTenant(RIVAL)).billedWindows).toEqual([]);
    });

    it('keeps the newest needs of the car at a connector, for connectors of the tenant only', async () => {
      const needs = (controllerUuid: ControllerUuid, deliveredWh: number) =>
        ({
          kind: 'needs.put',
          needs: {
            controllerUuid,
            connectorId: '1' as ConnectorId,
            session: 'visit-1',
            idTag: 'CARD-7',
            declared: { api: { departsAtMs: 1_780_300_800_000, energyWh: 0.1 + 0.2 } },
            deliveredWh,
            energy: {
              registerWh: 0.1 + 0.2,
              registerAtMs: 1_780_300_000_123,
              aheadWh: 0.7,
              quarters: [{ startsAtMs: 1_780_300_800_000, wh: 0.1 + 0.2, integratedWh: 0.1 }],
            },
            arrivedAtMs: 1_780_300_000_000,
            charged: { socPercent: 33.3, deliveredWh: 0.1 },
            peakW: 0.7,
            isIntegrated: true,
            times: { chargingMs: 0.1 + 0.2, limitedMs: { fairShare: 0.7 } },
          },
        }) as const;
      const rivals = 'rival-crane' as ControllerUuid;
      await store.append(HARBOUR, [needs(CRANE, 1.5)]);
      await store.append(HARBOUR, [needs(CRANE, 0.1 + 0.2), needs(rivals, 7)]);
      expect((await store.loadTenant(HARBOUR)).sessionNeeds).toEqual([needs(CRANE, 0.1 + 0.2).needs]);
      expect((await store.loadTenant(RIVAL)).sessionNeeds).toEqual([]);
    });

    it('keeps each ended session once, for connectors of the tenant only', async () => {
      const session = (controllerUuid: ControllerUuid, arrivedAtMs: number, deliveredWh: number) =>
        ({
          kind: 'session.put',
          session: {
            locationId: QUAY,
            controllerUuid,
            connectorId: '1' as ConnectorId,
            arrivedAtMs,
            leftAtMs: 1_780_300_900_000 + arrivedAtMs,
            session: undefined,
            idTag: arrivedAtMs === 1 ? undefined : 'CARD-7',
            deliveredWh,
            peakW: 0.1 + 0.2,
            isIntegrated: false,
            times: { chargingMs: 0.1 + 0.2, limitedMs: { paused: 0.7 } },
            declared: { charger: { energyWh: 5 } },
            need: { energyWh: 5 },
          },
        }) as const;
      const ended = (tenantUuid: typeof HARBOUR, locationId?: LocationId) =>
        store.read((trx) => readSessions(trx, tenantUuid, { locationId, window: ALL_TIME, count: 9 }));
      const rivals = 'rival-crane' as ControllerUuid;
      await store.append(HARBOUR, [session(CRANE, 1, 1.5), session(CRANE, 2, 0.1 + 0.2)]);
      await store.append(HARBOUR, [session(CRANE, 1, 2.5), session(rivals, 3, 7)]);
      const both = [session(CRANE, 2, 0.1 + 0.2).session, session(CRANE, 1, 2.5).session];
      expect(await ended(HARBOUR)).toEqual(both);
      expect(await ended(HARBOUR, QUAY)).toEqual(both);
      expect(await ended(RIVAL)).toEqual([]);
    });

    it('keeps the quarter-hours of a day in its row, and replaces those that come again', async () => {
      const startsAtMs = Date.parse('2026-05-31T22:00:00Z');
      const energy = (controllerUuid: ControllerUuid, ...quarters: readonly (readonly number[])[]) =>
        ({
          kind: 'energy.put',
          energy: {
            locationId: QUAY,
            controllerUuid,
            connectorId: '1' as ConnectorId,
            day: '2026-06-01',
            startsAtMs,
            quarters: quarters.map(([place = 0, wh = 0, integratedWh = 0]) => ({
              startsAtMs: startsAtMs + place * QUARTER_MS,
              wh,
              integratedWh,
            })),
          },
        }) as const;
      await store.append(HARBOUR, [energy(CRANE, [0, 100], [41, 250, 250])]);
      await store.append(HARBOUR, [
        energy(CRANE, [41, 300, 250]),
        energy(CRANE, [99, 7]),
        energy('rival-crane' as ControllerUuid, [0, 9]),
      ]);
      const filter = {
        group: 'tenant',
        locationId: undefined,
        connector: undefined,
        members: [],
        count: 9,
      } as const;
      const days = (tenantUuid: typeof HARBOUR, group: Group, resolution: 'day' | 'month' = 'day') =>
        store.read((trx) =>
          readEnergyOfDays(
            trx,
            tenantUuid,
            resolution,
            { fromDay: '2026-06-01', toDay: '2026-06-02' },
            { ...filter, group, members: [['both' as ClusterId, QUAY]] },
          ),
        );
      const nobody = { locationId: null, controllerUuid: null, connectorId: null, clusterId: null };
      const all = { ...nobody, period: '2026-06-01', wh: 407, integratedWh: 250 };
      expect(await days(HARBOUR, 'tenant')).toEqual([all]);
      expect(await days(HARBOUR, 'cluster', 'month')).toEqual([
        { ...all, period: '2026-06', clusterId: 'both' },
      ]);
      expect(await days(HARBOUR, 'connector')).toEqual([
        { ...all, locationId: QUAY, controllerUuid: CRANE, connectorId: '1' },
      ]);
      expect(await days(RIVAL, 'tenant')).toEqual([]);
      const window = { startsAtMs: startsAtMs + QUARTER_MS, endsAtMs: startsAtMs + 100 * QUARTER_MS };
      const quarters = await store.read((trx) =>
        readEnergyOfQuarters(trx, HARBOUR, window, { ...filter, group: 'location' }),
      );
      const ofQuay = { ...nobody, locationId: QUAY };
      expect(quarters).toEqual([
        { ...ofQuay, period: startsAtMs + 41 * QUARTER_MS, wh: 300, integratedWh: 250 },
        { ...ofQuay, period: startsAtMs + 99 * QUARTER_MS, wh: 7, integratedWh: 0 },
      ]);
      const ofLastHour = { ...window, startsAtMs: startsAtMs + 97 * QUARTER_MS };
      const lastHour = await store.read((trx) =>
        readEnergyOfQuarters(trx, HARBOUR, ofLastHour, { ...filter, group: 'location' }),
      );
      expect(lastHour).toEqual(quarters.slice(1));
      // The day of another zone begins two hours later, and has the same quarter-hour at another place.
      const ofUtc = energy(CRANE, [41, 5, 5]).energy;
      const later = { ...ofUtc, startsAtMs: startsAtMs + 8 * QUARTER_MS, connectorId: '2' as ConnectorId };
      await store.append(HARBOUR, [{ kind: 'energy.put', energy: later }]);
      const ofCluster = await store.read((trx) =>
        readEnergyOfQuarters(
          trx,
          HARBOUR,
          { ...window, endsAtMs: startsAtMs + 99 * QUARTER_MS },
          { ...filter, group: 'cluster', members: [['both' as ClusterId, QUAY]] },
        ),
      );
      expect(ofCluster).toEqual([
        { ...nobody, clusterId: 'both', period: startsAtMs + 41 * QUARTER_MS, wh: 305, integratedWh: 255 },
      ]);
      await store.forgetEnergyBefore('2026-06-01');
      expect(await days(HARBOUR, 'tenant')).toHaveLength(1);
      await store.forgetEnergyBefore('2026-06-02');
      expect(await days(HARBOUR, 'tenant')).toEqual([]);
    });

    it('keeps the minutes of a connector in a row for each day, and deletes whole days', async () => {
      const dayMs = Date.parse('2026-06-02');
      const power = (controllerUuid: ControllerUuid, minute: number, meanDaW: number, minutes = 1) =>
        ({
          kind: 'connectorPower.put',
          power: {
            controllerUuid,
            connectorId: '1' as ConnectorId,
            runs: [{ atMs: dayMs + minute * 60_000, minutes, meanDaW, limitDaW: 1_104 }],
          },
        }) as const;
      const days = [dayMs - 86_400_000, dayMs, dayMs + 86_400_000];
      const read = (tenantUuid: typeof HARBOUR) =>
        store.read((trx) =>
          readConnectorPower(
            trx,
            tenantUuid,
            { controllerUuid: CRANE, connectorId: '1' as ConnectorId },
            days,
          ),
        );
      const rival = power('rival-crane' as ControllerUuid, 0, 9);
      await store.append(HARBOUR, [power(CRANE, -2, 700, 5), power(CRANE, 3, 800), rival]);
      await store.append(HARBOUR, [power(CRANE, 4, 900), power(CRANE, 4, 900)]);
      const run = (minute: number, minutes: number, meanDaW: number) => ({
        ...power(CRANE, minute, meanDaW, minutes).power.runs[0],
      });
      const ofDay = [run(0, 3, 700), run(3, 1, 800), run(4, 1, 900), run(4, 1, 900)];
      expect(await read(HARBOUR)).toEqual([run(-2, 2, 700), ...ofDay]);
      expect(await read(RIVAL)).toEqual([]);
      await store.forgetConnectorPowerBefore('2026-06-02');
      expect(await read(HARBOUR)).toEqual(ofDay);
      await store.forgetConnectorPowerBefore('2026-06-03');
      expect(await read(HARBOUR)).toEqual([]);
    });

    const OF_CHANGES = EVENT_TYPES.filter((type) => type !== 'provisioning.changed');
    const logOf = (tenantUuid: typeof HARBOUR, afterId = 0) =>
      store.read((trx) =>
        readEvents(trx, tenantUuid, { afterId, types: OF_CHANGES, locationId: undefined, count: 5_000 }),
      );

    it('logs each event of an append once, in the order of the commits, with its credential', async () => {
      await store.append(HARBOUR, [begin('a'), put(QUAY_TARGET)]);
      await store.append(RIVAL, [{ kind: 'cluster.put', cluster: cluster('r', [RIVALS_ONLY]) }]);
      await store.append(HARBOUR, [end('a', 2_000), end('a', 3_000), begin('a')]);
      await store.append(HARBOUR, [{ kind: 'cluster.put', cluster: cluster('c', [QUAY]) }], 'client:two');
      const { events, newestId, forgottenId } = await logOf(HARBOUR);
      expect(events.map(({ type, by, locationId }) => [type, by, locationId])).toEqual([
        ['alarm.began', null, QUAY],
        ['alarm.ended', null, QUAY],
        ['cluster.changed', 'client:two', null],
      ]);
      const ids = events.map(({ id }) => id);
      expect(ids).toEqual([...ids].sort((a, b) => a - b));
      expect([newestId, forgottenId]).toEqual([ids.at(-1), 0]);
      expect((await logOf(HARBOUR, ids[1])).events).toEqual(events.slice(2));
      expect((await logOf(RIVAL)).events).toHaveLength(1);
    });

    it('logs nothing of an append that fails', async () => {
      const bad = put({ kind: 'location', locationId: RIVALS_ONLY });
      await expect(store.append(HARBOUR, [begin('a'), bad])).rejects.toThrow();
      expect((await logOf(HARBOUR)).events).toEqual([]);
    });

    it('forgets events after a year, and shows up to which id', async () => {
      const yearMs = 366 * 86_400_000;
      const many = (count: number, name: string, fromMs: number) =>
        Array.from({ length: count }, (_, nth) => begin(`${name}${nth}`, { beganAtMs: fromMs + nth }));
      const { newestId: provisioned } = await logOf(HARBOUR);
      await store.append(HARBOUR, many(600, 'old', 0));
      await store.append(HARBOUR, many(500, 'new', yearMs + 300));
      await store.forgetEventsBefore(799);
      const { events, newestId, forgottenId } = await logOf(HARBOUR);
      const ids = [events.at(0)?.id, events.at(-1)?.id, newestId, forgottenId];
      expect(ids.map((id = 0) => id - provisioned)).toEqual([601, 1_100, 1_100, 600]);
    });

    it('keeps mutes by kind and place until they end, and the last acknowledgement of an alarm', async () => {
      const mute = {
        muteId: 'one',
        kind: 'OFFLINE' as const,
        locationId: QUAY,
        controllerUuid: null,
        connectorId: null,
        untilMs: 2_000_000_000_000,
        note: null,
        mutedAtMs: 1_780_000_000_000,
        mutedBy: 'apiKey:one',
      };
      const second = { ...mute, muteId: 'two', note: "It's me", mutedAtMs: 1_780_000_000_001 };
      const held = async (tenantUuid = HARBOUR) => (await store.loadTenant(tenantUuid)).alarmMutes;
      await store.append(HARBOUR, [{ kind: 'mute.put', mute }]);
      await store.append(HARBOUR, [{ kind: 'mute.put', mute: second }]);
      await store.append(RIVAL, [{ kind: 'mute.end', mute: second, atMs: 1 }]);
      await store.append(HARBOUR, [{ kind: 'mute.end', mute, atMs: 1 }]);
      expect([await held(), await held(RIVAL)]).toEqual([[second], []]);
      await store.append(HARBOUR, [{ kind: 'mute.end', mute: second, atMs: 1 }]);
      expect(await held()).toEqual([]);

      const open = alarm('cared-for', { isWithheld: true });
      const acknowledgement = { atMs: 1_780_000_000_000, by: 'apiKey:one', note: null };
      const alarms = async () => (await store.loadTenant(HARBOUR)).openAlarms;
      await store.append(HARBOUR, [
        { kind: 'alarm.begin', alarm: open },
        { kind: 'alarm.acknowledge', alarm: { ...open, acknowledgement } },
      ]);
      expect(await alarms()).toContainEqual({ ...open, acknowledgement });
      await store.append(RIVAL, [{ kind: 'alarm.announce', alarm: open, atMs: 1 }]);
      expect(await alarms()).toContainEqual({ ...open, acknowledgement });
      await store.append(HARBOUR, [{ kind: 'alarm.announce', alarm: open, atMs: 1 }]);
      expect(await alarms()).toContainEqual({ ...open, acknowledgement, isWithheld: false });
    });

    it('keeps webhooks with their place, lanes and dead letters, until they are deleted', async () => {
      const held = (tenantUuid = HARBOUR) => store.read((trx) => loadWebhooks(trx, tenantUuid));
      const lanes = () => store.read((trx) => loadLanes(trx, HARBOUR, 'hook'));
      const letters = (isResting: boolean) =>
        store.read((trx) => loadDeadLetters(trx, HARBOUR, 'hook', { isResting, afterId: 0, count: 9 }));
      const { newestId } = await logOf(HARBOUR);
      await store.append(
        HARBOUR,
        [{ kind: 'webhook.put', webhook: WEBHOOK, afterId: undefined }],
        'apiKey:one',
      );
      expect(await held()).toEqual([{ ...WEBHOOK, cursorId: newestId }]);
      expect(await held(RIVAL)).toEqual([]);
      const settledTo = ['a@b.example', "o'c@d.example"];
      const lane = {
        afterId: 7,
        attempts: 2,
        nextAttemptAtMs: 1_780_000_000_001,
        error: 'answered 500',
        settledTo,
      };
      const dead = { attempts: 9, diedAtMs: 1_780_000_000_002, error: 'answered 400', settledTo };
      const resting = { ...dead, nextAttemptAtMs: null, triedUntilMs: null };
      const progress = {
        webhookId: 'hook',
        cursorId: 12,
        lanes: [
          { locationId: null, ...lane },
          { locationId: QUAY, ...lane, settledTo: [] },
        ],
        endedLanes: [],
        deadLetters: [1, 2].map((eventId) => ({ eventId, locationId: QUAY, ...resting })),
        revived: [],
      };
      await store.append(HARBOUR, [{ kind: 'webhook.progress', progress }]);
      await store.append(RIVAL, [{ kind: 'webhook.progress', progress }]);
      await store.append(HARBOUR, [
        { kind: 'webhook.put', webhook: { ...WEBHOOK, types: null, mailTo: ['a@b.example'] }, afterId: 3 },
      ]);
      expect(await held()).toEqual([{ ...WEBHOOK, types: null, mailTo: ['a@b.example'], cursorId: 12 }]);
      expect(await lanes()).toEqual(progress.lanes);
      expect(await letters(true)).toEqual(progress.deadLetters);
      const [atMs, untilMs] = [1_780_000_000_003, 1_780_000_000_004];
      await store.append(HARBOUR, [
        { kind: 'webhook.replay', webhookId: 'hook', eventIds: [2], atMs, untilMs },
      ]);
      const replayed = { ...progress.deadLetters[1], nextAttemptAtMs: atMs, triedUntilMs: untilMs };
      expect(await letters(false)).toEqual([replayed]);
      const next = { ...progress, lanes: [], endedLanes: [null], deadLetters: [], revived: [2] };
      await store.append(HARBOUR, [{ kind: 'webhook.progress', progress: next }]);
      expect(await lanes()).toEqual([progress.lanes[1]]);
      expect([await letters(true), await letters(false)]).toEqual([progress.deadLetters.slice(0, 1), []]);
      // The event with this id is no longer kept, so nobody can send it again.
      const old = [{ eventId: 0, locationId: QUAY, ...resting }];
      const last = { ...next, endedLanes: [], deadLetters: old, revived: [] };
      await store.append(HARBOUR, [{ kind: 'webhook.progress', progress: last }]);
      expect(await letters(true)).toEqual(progress.deadLetters.slice(0, 1));
      await store.append(HARBOUR, [{ kind: 'webhook.delete', isMail: false, webhookId: 'hook', atMs }]);
      await store.append(HARBOUR, [{ kind: 'webhook.progress', progress }]);
      expect([await held(), await lanes(), await letters(true)]).toEqual([[], [], []]);
    });

    it('has dead letters of each location to send, and none past one that waits', async () => {
      const now = 1_780_000_000_000;
      const resting = { attempts: 1, diedAtMs: 1, error: 'answered 400', triedUntilMs: now, settledTo: [] };
      const letter = (eventId: number, locationId: typeof QUAY | null, nextAttemptAtMs: number | null) => ({
        ...resting,
        eventId,
        locationId,
        nextAttemptAtMs,
      });
      const letters = [
        letter(1, QUAY, now),
        letter(2, QUAY, now + 2),
        letter(3, QUAY, now),
        letter(4, null, now + 1),
        letter(5, null, now),
        letter(6, PIER, now),
        letter(7, PIER, null),
      ];
      const progress = { cursorId: 9, lanes: [], endedLanes: [], deadLetters: letters, revived: [] };
      for (const webhookId of ['hook', 'other'])
        await store.append(HARBOUR, [
          { kind: 'webhook.put', webhook: { ...WEBHOOK, webhookId }, afterId: undefined },
          { kind: 'webhook.progress', progress: { ...progress, webhookId } },
        ]);
      const due = (count: number, atMs = now, tenantUuid = HARBOUR) =>
        store.read((trx) => loadDueLetters(trx, tenantUuid, 'hook', atMs, count));
      expect(await due(9)).toEqual({ due: [letters[0], letters[5]], nextAtMs: now + 1 });
      expect(await due(1)).toEqual({ due: [letters[0]], nextAtMs: now + 1 });
      expect(await due(9, now + 2)).toEqual({ due: letters.slice(0, 6), nextAtMs: undefined });
      expect(await due(9, now, RIVAL)).toEqual({ due: [], nextAtMs: undefined });
    });

    it('keeps a dead letter for as long as its event, which may be the row of a profile', async () => {
      await store.append(HARBOUR, [begin('old', { beganAtMs: 0 })]);
      await store.append(HARBOUR, [put(QUAY_TARGET)], 'apiKey:one');
      await store.append(HARBOUR, [begin('new', { beganAtMs: 1_000 })]);
      await store.forgetEventsBefore(999);
      const { events, forgottenId } = await logOf(HARBOUR);
      expect(events.map(({ id, type }) => [id - forgottenId, type])).toEqual([
        [1, 'profile.submitted'],
        [2, 'alarm.began'],
      ]);
      const deadLetters = [0, 1].map((later) => ({
        eventId: forgottenId + later,
        locationId: QUAY,
        attempts: 1,
        diedAtMs: 1,
        error: 'answered 400',
        nextAttemptAtMs: null,
        triedUntilMs: null,
        settledTo: [],
      }));
      const progress = {
        webhookId: 'hook',
        cursorId: 9,
        lanes: [],
        endedLanes: [],
        deadLetters,
        revived: [],
      };
      await store.append(HARBOUR, [
        { kind: 'webhook.put', webhook: WEBHOOK, afterId: undefined },
        { kind: 'webhook.progress', progress },
      ]);
      const filter = { isResting: true, afterId: 0, count: 9 };
      expect(await store.read((trx) => loadDeadLetters(trx, HARBOUR, 'hook', filter))).toEqual(
        deadLetters.slice(1),
      );
    });

    it('keeps one answer for each key and tenant, and with its change or not at all', async () => {
      const [first, second] = [answer('a', 1_780_000_000_000), answer('a', 1_780_000_000_001)];
      await store.append(HARBOUR, [put(QUAY_TARGET), { kind: 'answer.put', answer: first }]);
      await store.append(RIVAL, [{ kind: 'answer.put', answer: second }]);
      // Callers that share the commit are not refused with it.
      const [refused, accepted] = await Promise.allSettled([
        store.append(HARBOUR, [put(ORGANIZATION), { kind: 'answer.put', answer: second }]),
        store.append(HARBOUR, [{ kind: 'answer.put', answer: answer('b', 1_780_000_000_001) }]),
      ]);
      expect(refused).toMatchObject({ reason: expect.any(AnsweredAlreadyError) });
      expect(accepted?.status).toBe('fulfilled');
      expect(await store.read((trx) => readProfileHistory(trx, HARBOUR, ORGANIZATION, ALL_TIME))).toEqual([]);
      expect(await answerOf('a')).toEqual(first);
      await store.append(HARBOUR, [{ kind: 'answer.change', keyHash: 'a', sealed: 'as sent' }]);
      expect(await answerOf('a')).toEqual({ ...first, sealed: 'as sent' });
      expect(await answerOf('a', RIVAL)).toEqual(second);
    });

    it('gives a key another answer after a day, and deletes old answers of all tenants', async () => {
      const atMs = 1_780_000_000_000;
      const later = answer('a', atMs + 86_400_000);
      for (const tenantUuid of [HARBOUR, RIVAL])
        await store.append(tenantUuid, [{ kind: 'answer.put', answer: answer('a', atMs) }]);
      expect(await answerOf('a', HARBOUR, later.atMs)).toBeUndefined();
      await store.append(HARBOUR, [{ kind: 'answer.put', answer: later }]);
      expect(await answerOf('a', HARBOUR, later.atMs)).toEqual(later);
      const many = Array.from({ length: 2_100 }, (_, nth) => answer(`n${nth}`, atMs));
      await store.append(
        RIVAL,
        many.map((each) => ({ kind: 'answer.put', answer: each })),
      );
      await store.forgetAnswersBefore(atMs);
      expect(await answerOf('a', HARBOUR, later.atMs)).toEqual(later);
      for (const keyHash of ['a', 'n0', 'n2099'])
        expect(await answerOf(keyHash, RIVAL, atMs)).toBeUndefined();
    });

    it('keeps the newest answers of a tenant: those of its last 32 MB', async () => {
      const sealed = 'x'.repeat(9_999_700);
      for (const keyHash of ['a', 'b', 'c', 'd', 'e']) {
        const large = { ...answer(keyHash, 1_780_000_000_000), sealed };
        await store.append(HARBOUR, [{ kind: 'answer.put', answer: large }]);
        await store.append(RIVAL, [{ kind: 'answer.put', answer: answer(keyHash, 1_780_000_000_000) }]);
      }
      expect(await answerOf('a')).toBeUndefined();
      for (const keyHash of ['b', 'c', 'd', 'e']) expect(await answerOf(keyHash)).toBeDefined();
      expect(await answerOf('a', RIVAL)).toBeDefined();
    });

    it('keeps the chargers that the log has as offline', async () => {
      const charger = { controllerUuid: CRANE, sinceMs: 1_780_000_000_000 };
      const change = (kind: 'charger.offline' | 'charger.online') =>
        ({ kind, locationId: QUAY, charger, atMs: 1_780_000_240_000 }) as const;
      const offline = async () => (await store.loadTenant(HARBOUR)).offlineChargers;
      await store.append(HARBOUR, [change('charger.offline'), change('charger.offline')]);
      expect(await offline()).toEqual([charger]);
      expect((await store.loadTenant(RIVAL)).offlineChargers).toEqual([]);
      await store.append(HARBOUR, [change('charger.online')]);
      expect(await offline()).toEqual([]);
      expect((await logOf(HARBOUR)).events.map(({ type }) => type)).toEqual([
        'charger.offline',
        'charger.online',
      ]);
    });

    it('returns nothing for an unknown tenant, and refuses its writes', async () => {
      await store.append(HARBOUR, [put(QUAY_TARGET)]);
      const nobody = '00000000-0000-4000-8000-000000000000' as typeof HARBOUR;
      expect(await store.loadTenant(nobody)).toEqual({
        locations: [],
        clusters: [],
        profiles: [],
        reservations: [],
        openAlarms: [],
        operatorEvents: [],
        sessionNeeds: [],
        billedWindows: [],
        offlineChargers: [],
        alarmMutes: [],
      });
      expect(await store.read((trx) => readProfileHistory(trx, nobody, QUAY_TARGET, ALL_TIME))).toEqual([]);
      expect(await store.read((trx) => readPermanentLimits(trx, nobody, QUAY))).toEqual([]);
      await expect(store.append(nobody, [put(ORGANIZATION)])).rejects.toThrow();
    });
  });

  describe('The journal of acknowledged writes', () => {
    it('writes nothing of an append whose last change fails', async () => {
      await store.append(HARBOUR, [put(QUAY_TARGET), { kind: 'cluster.put', cluster: cluster('c', [QUAY]) }]);
      const before = await everything(store);
      const append = store.append(HARBOUR, [
        put(QUAY_TARGET, { limitKw: 99 }),
        { kind: 'permanentLimit.set', locationId: QUAY, limitKw: 99, atMs: 2 },
        { kind: 'cluster.delete', clusterId: 'c' as ClusterId, atMs: 3 },
        { kind: 'cluster.put', cluster: cluster('bad', [RIVALS_ONLY]) },
      ]);
      await expect(append).rejects.not.toBeInstanceOf(StoreUnavailableError);
      expect(await everything(store)).toEqual(before);
    });

    it('writes the changes of the other callers if one caller of a shared commit fails', async () => {
      const good = Array.from({ length: 11 }, (_, priority) => put(QUAY_TARGET, { priority }));
      const bad = put({ kind: 'location', locationId: RIVALS_ONLY });
      const order = [...good.slice(0, 7), bad, ...good.slice(7)];
      const outcomes = await Promise.allSettled(order.map((change) => store.append(HARBOUR, [change])));
      expect(outcomes.map(({ status }) => status)).toEqual(
        order.map((change) => (change === bad ? 'rejected' : 'fulfilled')),
      );
      expect((await store.loadTenant(HARBOUR)).profiles).toHaveLength(11);
    });

    it('answers in the order of the calls, also if some fail', async () => {
      await reopen({ maxBatch: 3 });
      const answered: number[] = [];
      const calls = Array.from({ length: 30 }, (_, i) => {
        const target = i % 7 === 3 ? ({ kind: 'location', locationId: RIVALS_ONLY } as const) : QUAY_TARGET;
        return store.append(HARBOUR, [put(target, { priority: i % 11 })]).then(
          () => answered.push(i),
          () => answered.push(i),
        );
      });
      await Promise.all(calls);
      expect(answered).toEqual(calls.map((_, i) => i));
    });

    it('reads a tenant between commits: with all acknowledged writes, and no later ones', async () => {
      let answered = 0;
      const write = async () => {
        for (const limitKw of Array.from({ length: 40 }, (_, i) => i + 1)) {
          await store.append(HARBOUR, [put(QUAY_TARGET, { limitKw })]);
          answered = limitKw;
        }
      };
      const read = async () => {
        while (answered < 40) {
          const { profiles } = await store.loadTenant(HARBOUR);
          expect(profiles[0]?.limitKw ?? 0).toBe(answered);
        }
      };
      await Promise.all([write(), read(), read()]);
    });

    it('shares commits among at most maxBatch callers and counts their changes', async () => {
      await reopen({ maxBatch: 4 });
      await Promise.all(
        Array.from({ length: 10 }, (_, priority) => store.append(HARBOUR, [put(QUAY_TARGET, { priority })])),
      );
      const { values } = await metrics.commitChanges.get();
      const value = (name: string) => values.find(({ metricName }) => metricName?.endsWith(name))?.value;
      expect(value('_count')).toBe(3);
      expect(value('_sum')).toBe(10);
    });

    it('refuses a caller beyond the maximum of pending calls', async () => {
      await reopen({ maxPending: 2 });
      const calls = [0, 1, 2].map((priority) => store.append(HARBOUR, [put(QUAY_TARGET, { priority })]));
      await expect(calls[2]).rejects.toBeInstanceOf(StoreUnavailableError);
      await Promise.all(calls.slice(0, 2));
      expect((await store.loadTenant(HARBOUR)).profiles).toHaveLength(2);
    });

    it('refuses callers that have waited for more than five seconds', async () => {
      await store.close();
      const clock = createVirtualClock(0);
      ({ store, metrics } = await openStore(databaseUrl, { maxBatch: 1 }, clock));
      const calls = [0, 1, 2].map((priority) => store.append(HARBOUR, [put(QUAY_TARGET, { priority })]));
      const outcomes = Promise.allSettled(calls);
      await calls[0];
      clock.advance(5001);
      const refused = {
        status: 'rejected',
        reason: { name: 'StoreUnavailableError', isOutcomeUnknown: false },
      };
      expect(await outcomes).toMatchObject([{ status: 'fulfilled' }, refused, refused]);
      await store.append(HARBOUR, [put(QUAY_TARGET, { priority: 3 })]);
      const { profiles } = await store.loadTenant(HARBOUR);
      expect(profiles.map(({ priority }) => priority)).toEqual([0, 3]);
    });

    it('writes all accepted changes before it closes, and accepts none afterwards', async () => {
      const calls = Array.from({ length: 11 }, (_, priority) =>
        store.append(HARBOUR, [put(QUAY_TARGET, { priority })]),
      );
      const closed = store.close();
      await expect(store.append(HARBOUR, [put(QUAY_TARGET)])).rejects.toBeInstanceOf(StoreUnavailableError);
      await expect(store.loadTenant(HARBOUR)).rejects.toBeInstanceOf(StoreUnavailableError);
      await Promise.all(calls);
      await closed;
      ({ store } = await openStore(databaseUrl));
      expect((await store.loadTenant(HARBOUR)).profiles).toHaveLength(11);
    });

    it('answers StoreUnavailableError while the database is unreachable, and works again afterwards', async () => {
      await store.append(HARBOUR, [put(QUAY_TARGET, { limitKw: 1 })]);
      const giveBack = await server().takeAway(databaseUrl);
      const refused = [2, 3].map((limitKw) => store.append(HARBOUR, [put(QUAY_TARGET, { limitKw })]));
      for (const call of refused) await expect(call).rejects.toBeInstanceOf(StoreUnavailableError);
      await giveBack();
      await expect(store.ping()).rejects.toThrow('refused a write a moment ago');
      expect((await store.loadTenant(HARBOUR)).profiles).toMatchObject([{ limitKw: 1 }]);
      await store.append(HARBOUR, [put(QUAY_TARGET, { limitKw: 4 })]);
      await store.ping();
      const history = await store.read((trx) => readProfileHistory(trx, HARBOUR, QUAY_TARGET, ALL_TIME));
      expect(history.map(({ limitKw }) => limitKw)).toEqual([1, 4]);
    });
  });

  describe('A starting store', () => {
    it('refuses a database of a newer version, and reports it as such', async () => {
      const newer = await server().createDatabase();
      await migrate(newer);
      const knex = openDatabase(newer);
      await knex('migrations').insert({ name: '9999-to-come', batch: 9, migration_time: knex.fn.now() });
      await knex.destroy();
      await expect(migrate(newer)).rejects.toThrow('newer version of Headroom');
    });

    it('accepts a database whose schema predates the release that joined the migrations', async () => {
      const stepwise = await server().createDatabase();
      await migrate(stepwise);
      const knex = openDatabase(stepwise);
      const names = () => knex('migrations').orderBy('name').pluck('name');
      const joined = await names();
      await knex('migrations').where({ name: '0004-release-0.2' }).delete();
      for (const name of ['0004-power-estimates', '0024-credential-history'])
        await knex('migrations').insert({ name, batch: 1, migration_time: knex.fn.now() });
      expect(await migrate(stepwise)).toEqual([]);
      expect(await names()).toEqual(joined);
      await knex.destroy();
    });

    it('migrates a database once at several simultaneous starts', async () => {
      const fresh = await server().createDatabase();
      // Each start that waits for SQLite's lock occupies one of this process's four threads; the holder of the lock
      // needs one.
      const runs = await Promise.all([migrate(fresh), migrate(fresh), migrate(fresh)]);
      const names = (await MIGRATIONS.getMigrations([])).map(({ name }) => name);
      expect(runs.flat()).toEqual(names);
      expect(await migrate(fresh)).toEqual([]);
    });
  });
}
