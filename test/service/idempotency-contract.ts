// `Idempotency-Key` on one database: the same tests for SQLite and PostgreSQL.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createVirtualClock } from '../../sim/virtual-clock.js';
import { databaseUrlOf } from '../../src/config.js';
import { openDatabase } from '../../src/outbound/knex/connection.js';
import { type Store, StoreUnavailableError } from '../../src/ports/store.js';
import { refusalOf } from './answers.js';
import { profileAt } from './profiles.js';
import {
  type Answer,
  apiKeyOf,
  HARBOUR,
  RIVAL,
  type RunningService,
  runService,
  site,
  tenantWith,
} from './running-service.js';

const NOW_MS = Date.parse('2026-06-01T12:00:00Z');
const DAY_MS = 86_400_000;
const SCHEDULES = '/locations/quay-1/schedules';
const WINDOW = profileAt(NOW_MS, {});
const CLUSTER = { name: 'Harbour', locationIds: ['quay-1', 'quay-2'] };

export function describeIdempotency(environmentOf: () => Promise<Readonly<Record<string, string>>>): void {
  let clock: ReturnType<typeof createVirtualClock>;
  let service: RunningService;
  /** Replaces the appends of the service from now on. */
  let append: ((store: Store, ...asked: Parameters<Store['append']>) => Promise<void>) | undefined;
  let changeCredentials: Store['changeCredentials'] | undefined;
  let real: Store;
  const wrapStore = (store: Store): Store => {
    real = store;
    return {
      ...store,
      append: (...asked) => append?.(store, ...asked) ?? store.append(...asked),
      changeCredentials: (...asked) => (changeCredentials ?? store.changeCredentials)(...asked),
    };
  };
  beforeEach(async () => {
    [append, changeCredentials] = [undefined, undefined];
    clock = createVirtualClock(NOW_MS);
    const tenants = [HARBOUR, RIVAL].map((tenant) => tenantWith(tenant, [site('quay-1'), site('quay-2')]));
    const mail = { HEADROOM_SMTP_URL: 'smtp://127.0.0.1:9', HEADROOM_MAIL_FROM: 'headroom@example.com' };
    const environment = { HEADROOM_WEBHOOK_PRIVATE: 'true', ...mail, ...(await environmentOf()) };
    service = await runService(tenants, { clock, wrapStore }, environment);
  });
  afterEach(() => service.stop());

  const post = (path: string, body: unknown, key: string, tenantUuid = HARBOUR): Promise<Answer> =>
    service.send('POST', path, {
      headers: { 'x-api-key': apiKeyOf(tenantUuid), 'idempotency-key': key },
      body,
    });

  const historyOf = async (path: string, list = 'submissions'): Promise<readonly unknown[]> => {
    const answer = await service.call('GET', path);
    const rows = answer.body[list];
    return Array.isArray(rows) ? rows : [];
  };
  const submissions = () =>
    historyOf('/locations/quay-1/history?from=2026-01-01T00:00:00Z&to=2027-01-01T00:00:00Z');
  const clusters = () => historyOf('/clusters', 'clusters');

  /** Each POST of a tenant, on objects that exist already. */
  async function everyPost(): Promise<readonly (readonly [path: string, body: object])[]> {
    const { clusterId } = (await service.call('POST', '/clusters', CLUSTER)).body;
    const hook = { url: 'http://127.0.0.1:9/', locationIds: ['quay-2'] };
    const { webhookId } = (await service.call('POST', '/webhooks', hook)).body;
    const mailed = { to: ['operator@example.com'], locationIds: ['quay-2'] };
    const { mailSubscriptionId } = (await service.call('POST', '/mail-subscriptions', mailed)).body;
    const mute = { kind: 'STALE', until: new Date(NOW_MS + DAY_MS).toISOString() };
    return [
      [SCHEDULES, { ...WINDOW, limitKw: 5 }],
      ['/chargers/quay-1-a/connectors/1/schedules', WINDOW],
      ['/organizations/schedules', WINDOW],
      ['/clusters', { ...CLUSTER, name: 'Another' }],
      [`/clusters/${clusterId}/schedules`, { ...WINDOW, priority: 3 }],
      ['/webhooks', hook],
      [`/webhooks/${webhookId}/secret`, {}],
      [`/webhooks/${webhookId}/replay`, {}],
      ['/mail-subscriptions', mailed],
      [`/mail-subscriptions/${mailSubscriptionId}/replay`, {}],
      ['/locations/quay-1/alarm-mutes', mute],
      ['/credentials/api-keys', { name: 'A', scopes: ['locations:read'] }],
      ['/credentials/clients', { name: 'A', scopes: ['locations:read'] }],
    ];
  }

  /** All that a repeated request could change, without alarms and the progress of deliveries. */
  async function state(): Promise<unknown> {
    const window = 'from=2026-01-01T00:00:00Z&to=2027-01-01T00:00:00Z';
    return Promise.all(
      [
        `/locations/quay-1/history?${window}`,
        `/locations/quay-2/history?${window}`,
        `/chargers/quay-1-a/connectors/1/history?${window}`,
        `/organizations/history?${window}`,
        '/clusters',
        '/events?type=cluster.changed,webhook.changed,credential.issued',
        '/credentials/api-keys',
        '/credentials/clients',
      ].map(async (path) => ({ ...(await service.call('GET', path)).body, last: undefined })),
    ).then(async (read) => [read, await secretsOfWebhooks()]);
  }

  async function secretsOfWebhooks(): Promise<unknown> {
    const database = openDatabase(databaseUrlOf(service.config));
    const rows = await database('webhooks')
      .select('webhook_id', 'secret', 'updated_at_ms')
      .orderBy('webhook_id');
    await database.destroy();
    return rows;
  }

  function expectReplay(repeated: Answer, first: Answer): void {
    expect(repeated.headers.get('idempotent-replayed')).toBe('true');
    expect([repeated.status, repeated.body]).toEqual([first.status, first.body]);
    for (const name of ['location', 'warning', 'content-type', 'cache-control'])
      expect(repeated.headers.get(name)).toBe(first.headers.get(name));
  }

  describe('a request that is repeated with its key', () => {
    it('gets the answer of the first one and changes nothing, at every POST, over a restart too', async () => {
      const posts = await everyPost();
      const firsts: Answer[] = [];
      // The token endpoint ignores the header.
      const { paths } = (await service.call('GET', '/openapi.json')).body;
      const documented = Object.values(paths as object).filter((operations: object) => 'post' in operations);
      expect(posts).toHaveLength(documented.length - 1);
      for (const [nth, [path, body]] of posts.entries()) {
        firsts.push(await post(path, body, `"key ${nth}"`));
        expect(firsts[nth]?.headers.get('idempotent-replayed')).toBeNull();
        expect([200, 201]).toContain(firsts[nth]?.status);
      }
      clock.advance(60_000);
      const before = await state();
      for (const isRestarted of [false, true]) {
        if (isRestarted) service = await service.restart({ clock, wrapStore });
        for (const [nth, [path, body]] of posts.entries())
          expectReplay(await post(path, body, `"key ${nth}"`), firsts[nth] as Answer);
      }
      expect(await state()).toEqual(before);
    });

    it('does not undo a later permanent limit, also after a failure between commit and answer', async () => {
      const put = (limitKw: number, key: string) =>
        service.send('PUT', '/locations/quay-1/limit', {
          headers: { 'x-api-key': apiKeyOf(HARBOUR), 'idempotency-key': key },
          body: { limitKw },
        });
      const first = await put(41, '"limit"');
      expect(first).toMatchObject({ status: 200, body: { permanentLimitKw: 41, effectiveLimitKw: 41 } });
      await put(39, '"later"');
      expectReplay(await put(41, '"limit"'), first);
      refusalOf(await put(42, '"limit"'), 'IDEMPOTENCY_KEY_REUSED');
      append = async (store, ...asked) => {
        await store.append(...asked);
        throw new StoreUnavailableError('the service died after its commit', { isOutcomeUnknown: true });
      };
      refusalOf(await put(38, '"lost"'), 'SERVICE_UNAVAILABLE');
      append = undefined;
      service = await service.restart({ clock, wrapStore });
      await put(37, '"last"');
      expect(await put(38, '"lost"')).toMatchObject({ status: 200, body: { permanentLimitKw: 38 } });
      expect((await service.call('GET', '/locations/quay-1/limits')).body.permanentLimitKw).toBe(37);
    });

    it('gets it after a failure between commit and answer, at every POST: one commit has both', async () => {
      const posts = await everyPost();
      let isLost = false;
      append = async (store, ...asked) => {
        if (isLost) throw new StoreUnavailableError('the service is dead');
        if (!asked[1].some(({ kind }) => kind === 'answer.put')) return store.append(...asked);
        isLost = true;
        await store.append(...asked);
        throw new StoreUnavailableError('the service died after its commit', { isOutcomeUnknown: true });
      };
      changeCredentials = async (...asked) => {
        await real.changeCredentials(...asked);
        throw new StoreUnavailableError('the service died after its commit', { isOutcomeUnknown: true });
      };
      const isolated = { append, changeCredentials };
      for (const [nth, [path, body]] of posts.entries()) {
        isLost = false;
        ({ append, changeCredentials } = isolated);
        refusalOf(await post(path, body, `"key ${nth}"`), 'SERVICE_UNAVAILABLE');
        [append, changeCredentials] = [undefined, undefined];
        service = await service.restart({ clock, wrapStore });
        const before = await state();
        const again = await post(path, body, `"key ${nth}"`);
        expect([200, 201], `${path} ${JSON.stringify(again.body)}`).toContain(again.status);
        expect(again.headers.get('idempotent-replayed'), path).toBe('true');
        expect(await state()).toEqual(before);
        expectReplay(await post(path, body, `"key ${nth}"`), again);
      }
    });

    it('gets it if the first commit lands after the second request began', async () => {
      let late: (() => Promise<void>) | undefined;
      append = async (store, ...asked) => {
        if (late === undefined) {
          late = () => store.append(...asked);
          throw new StoreUnavailableError('no confirmation', { isOutcomeUnknown: true });
        }
        const land = late;
        late = async () => {};
        await land();
        return store.append(...asked);
      };
      refusalOf(await post('/clusters', CLUSTER, '"late"'), 'SERVICE_UNAVAILABLE');
      const again = await post('/clusters', CLUSTER, '"late"');
      expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([201, 'true']);
      service = await service.restart({ clock });
      expect(await clusters()).toMatchObject([{ clusterId: again.body.clusterId }]);
    });

    it('has the Warning of the first answer', async () => {
      const low = { ...WINDOW, limitKw: 1 };
      const first = await post(SCHEDULES, low, '"low"');
      expect(first.headers.get('warning')).toContain('quay-1');
      expectReplay(await post(SCHEDULES, low, '"low"'), first);
    });

    it('gets a refusal of the operation again, with the requestId of the first', async () => {
      const unknown = '/locations/quay-9/schedules';
      const first = await post(unknown, WINDOW, '"gone"');
      refusalOf(first, 'LOCATION_NOT_FOUND');
      expectReplay(await post(unknown, WINDOW, '"gone"'), first);
    });

    it('is executed if the first was refused before: by credential, body, or a database that was away', async () => {
      const stranger = {
        headers: { 'x-api-key': 'hr_nobody00_wrong', 'idempotency-key': '"k"' },
        body: WINDOW,
      };
      refusalOf(await service.send('POST', SCHEDULES, stranger), 'UNAUTHORIZED');
      refusalOf(await post(SCHEDULES, { ...WINDOW, limitKw: -1 }, '"k"'), 'INVALID_REQUEST_BODY');
      append = () => Promise.reject(new StoreUnavailableError('away'));
      refusalOf(await post(SCHEDULES, WINDOW, '"k"'), 'SERVICE_UNAVAILABLE');
      append = undefined;
      expect((await post(SCHEDULES, WINDOW, '"k"')).status).toBe(200);
      expect(await submissions()).toHaveLength(1);
    });

    it('is executed after a day, when the row of the first is gone', async () => {
      await post('/clusters', CLUSTER, '"day"');
      clock.advance(DAY_MS - 1);
      expect((await post('/clusters', CLUSTER, '"day"')).headers.get('idempotent-replayed')).toBe('true');
      clock.advance(1);
      expect((await post('/clusters', CLUSTER, '"day"')).headers.get('idempotent-replayed')).toBeNull();
      expect(await clusters()).toHaveLength(2);
      await real.forgetAnswersBefore(clock.nowMs());
      const database = openDatabase(databaseUrlOf(service.config));
      expect(await database('answers')).toEqual([]);
      await database.destroy();
    });
  });

  it('refuses the key of another request with 422: other body, path or credential of a secret', async () => {
    await post(SCHEDULES, WINDOW, '"used"');
    const elsewhere = post('/locations/quay-2/schedules', WINDOW, '"used"');
    for (const answer of [await post(SCHEDULES, { ...WINDOW, limitKw: 8 }, '"used"'), await elsewhere]) {
      expect(answer.status).toBe(422);
      expect(refusalOf(answer, 'IDEMPOTENCY_KEY_REUSED')).toMatch(/^Idempotency-Key: .* new key/);
    }
    expect(await submissions()).toHaveLength(1);
    const body = { name: 'Deputy', scopes: ['credentials:write', 'locations:read'] };
    const deputy = String((await post('/credentials/api-keys', body, '"deputy"')).body.apiKey);
    const headers = { 'x-api-key': deputy, 'idempotency-key': '"deputy"' };
    refusalOf(
      await service.send('POST', '/credentials/api-keys', { headers, body }),
      'IDEMPOTENCY_KEY_REUSED',
    );
  });

  it('refuses a concurrent request with 409 until the first has its answer', async () => {
    let open = () => {};
    let reached = () => {};
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    const isThere = new Promise<void>((resolve) => {
      reached = resolve;
    });
    append = async (store, ...asked) => {
      reached();
      await gate;
      await store.append(...asked);
    };
    const first = post(SCHEDULES, WINDOW, '"slow"');
    await isThere;
    const concurrent = await post(SCHEDULES, WINDOW, '"slow"');
    expect(concurrent.status).toBe(409);
    expect(refusalOf(concurrent, 'REQUEST_IN_PROGRESS')).toMatch(/^Idempotency-Key: /);
    expect(concurrent.headers.get('retry-after')).toBe('1');
    refusalOf(await post(SCHEDULES, { ...WINDOW, limitKw: 8 }, '"slow"'), 'IDEMPOTENCY_KEY_REUSED');
    open();
    const answered = await first;
    expectReplay(await post(SCHEDULES, WINDOW, '"slow"'), answered);
    expect(await submissions()).toHaveLength(1);
  });

  it('takes a key with and without quotes, and refuses others with 400 and the rule', async () => {
    const longest = 'k'.repeat(255);
    for (const key of [
      '"',
      '""',
      ' ',
      '"a',
      'a"b',
      '"\\a"',
      'a, b',
      '"a", "b"',
      '"a";p=1',
      `"${longest}k"`,
      `${longest}k`,
      '"é"',
      'a b',
    ]) {
      const answer = await post(SCHEDULES, WINDOW, key);
      expect(refusalOf(answer, 'INVALID_REQUEST_BODY'), key).toMatch(/^Idempotency-Key: must be/);
    }
    expect(await submissions()).toEqual([]);
    for (const key of [`"${longest}"`, '"a b\\"\\\\"', 'abc-123:4'])
      expect((await post(SCHEDULES, WINDOW, key)).status, key).toBe(200);
    expect((await post(SCHEDULES, WINDOW, '"abc-123:4"')).headers.get('idempotent-replayed')).toBe('true');
  });

  it('keeps the keys of tenants apart', async () => {
    await post('/clusters', CLUSTER, '"shared"');
    const other = await post('/clusters', { ...CLUSTER, name: 'Rival' }, '"shared"', RIVAL);
    expect([other.status, other.headers.get('idempotent-replayed')]).toEqual([201, null]);
  });

  it('stores no secret and no key that a reader of the database could use', async () => {
    const request = { name: 'Fleet', scopes: ['locations:read'] };
    const { apiKey } = (await post('/credentials/api-keys', request, '"a secret key"')).body;
    const database = openDatabase(databaseUrlOf(service.config));
    const rows = JSON.stringify(await database('answers'));
    await database.destroy();
    expect(rows).toContain(HARBOUR);
    for (const text of [
      String(apiKey),
      Buffer.from(String(apiKey)).toString('base64').slice(4, 40),
      'a secret key',
    ])
      expect(rows).not.toContain(text);
  });

  it('leaves a request without a key as it was, and ignores the header of other methods', async () => {
    for (const _ of [1, 2]) expect((await service.call('POST', SCHEDULES, WINDOW)).status).toBe(200);
    expect(await submissions()).toHaveLength(2);
    const headers = { 'x-api-key': apiKeyOf(HARBOUR), 'idempotency-key': '"' };
    const put = await service.send('PUT', '/locations/quay-1/limit', { headers, body: { limitKw: 9 } });
    expect(put.status).toBe(200);
  });
}
