// Extension: the event log of an organization.
import { EventSource, getGlobalDispatcher, MessageEvent } from 'undici';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { ControllerUuid } from '../../machines/values/ids.js';
import { createVirtualClock } from '../../sim/virtual-clock.js';
import { databaseUrlOf } from '../../src/config.js';
import { eventPageSchema } from '../../src/features/events/contract.js';
import { streamEventSchema } from '../../src/features/stream-contract.js';
import { createAdministration } from '../../src/outbound/knex/administration.js';
import { eventually } from '../eventually.js';
import { freePort } from '../free-port.js';
import { type EventReader, readEvents } from '../inbound/http/event-reader.js';
import { bodyOf, refusalOf } from './answers.js';
import { connectCharger } from './charger-client.js';
import {
  apiKeyOf,
  HARBOUR,
  provision,
  RIVAL,
  type RunningService,
  runService,
  site,
  tenantWith,
} from './running-service.js';

const clock = createVirtualClock(Date.parse('2026-06-01T12:00:00Z'));
const TENANTS = [tenantWith(HARBOUR, [site('quay'), site('yard')]), tenantWith(RIVAL, [site('rivals')])];

let service: RunningService;
beforeAll(async () => {
  const port = String(await freePort());
  service = await runService(TENANTS, { clock }, { HEADROOM_HTTP_PORT: port });
});
afterEach(() => {
  for (const close of closing.splice(0)) close();
});
afterAll(() => service.stop());

const closing: (() => void)[] = [];

async function page(query = '', tenantUuid = HARBOUR) {
  return bodyOf(await service.call('GET', `/events${query}`, undefined, tenantUuid), eventPageSchema);
}

describe('the event log', () => {
  it('has each change of a cluster in the order of the commits, with its credential and its object', async () => {
    const created = await service.call('POST', '/clusters', { name: 'Both', locationIds: ['quay', 'yard'] });
    const clusterId = String(Reflect.get(created.body as object, 'clusterId'));
    await service.call('PATCH', `/clusters/${clusterId}`, { limitKw: 60 });
    await service.call('POST', '/clusters', { name: 'Quay', locationIds: ['quay'] });
    await service.call('DELETE', `/clusters/${clusterId}`);
    const { events, last, isGapless } = await page('?type=cluster.changed,cluster.deleted');
    const by = `apiKey:${HARBOUR.slice(0, 8)}`;
    expect(events.map(({ type, locationId, source, by: who }) => [type, locationId, source, who])).toEqual([
      ['cluster.changed', null, 'rest', by],
      ['cluster.changed', null, 'rest', by],
      ['cluster.changed', null, 'rest', by],
      ['cluster.deleted', null, 'rest', by],
    ]);
    expect(events[1]).toMatchObject({
      at: '2026-06-01T12:00:00.000Z',
      data: { clusterId, name: 'Both', limitKw: 60, totalLocations: 2 },
    });
    expect([last, isGapless]).toEqual([events.at(-1)?.id, true]);
  });

  it('continues after an id, page by page, or of some types', async () => {
    const { events } = await page();
    const first = await page('?limit=3');
    expect(first.events).toEqual(events.slice(0, 3));
    expect((await page(`?after=${first.last}`)).events).toEqual(events.slice(3));
    expect((await page('?type=cluster.deleted,alarm.began')).events).toEqual(events.slice(-1));
    expect((await page('?locationId=yard')).events).toMatchObject([{ locationId: 'yard' }]);
    const last = events.at(-1)?.id;
    expect(await page(`?after=${last}`)).toMatchObject({ events: [], last, isGapless: true });
    // An id of a database that was replaced by an older one.
    expect(await page('?after=1000&waitS=20')).toMatchObject({ events: [], last, isGapless: false });
  });

  it('has each profile and permanent limit with its place and credential, and none of the organization', async () => {
    const { last } = await page();
    const [startTime, endTime] = ['2026-06-01T13:00:00.000Z', '2026-06-01T14:00:00.000Z'];
    const body = { priority: 3, limitKw: 20, startTime, endTime };
    const { clusterId } = (
      await service.call('POST', '/clusters', { name: 'Pair', locationIds: ['quay', 'yard'] })
    ).body;
    await service.call('POST', '/locations/quay/schedules', body);
    await service.call('POST', '/chargers/quay-a/connectors/1/schedules', body);
    await service.call('POST', '/organizations/schedules', body);
    await service.call('PUT', '/locations/quay/limit', { limitKw: 30 });
    await service.call('POST', `/clusters/${clusterId}/schedules`, body);
    await service.call('DELETE', '/locations/quay/schedules/3');
    await service.call('DELETE', '/chargers/quay-a/connectors/1/schedules/3');
    await service.call('DELETE', '/organizations/schedules/3');
    const { events, last: newest } = await page(`?after=${last}`);
    const profile = { ...body, clusterId: null };
    const [quay, connector] = [
      { locationId: 'quay', controllerUuid: null },
      { locationId: 'quay', connectorId: '1' },
    ];
    expect(events).toMatchObject([
      { type: 'cluster.changed' },
      {
        type: 'profile.submitted',
        ...quay,
        source: 'rest',
        by: `apiKey:${HARBOUR.slice(0, 8)}`,
        data: profile,
      },
      { type: 'profile.submitted', ...connector, controllerUuid: 'quay-a', data: profile },
      { type: 'permanentLimit.changed', ...quay, data: { permanentLimitKw: 30 } },
      { type: 'profile.submitted', ...quay, data: { clusterId } },
      { type: 'profile.submitted', locationId: 'yard', data: { clusterId } },
      { type: 'profile.cancelled', ...quay, data: { priority: 3 } },
      { type: 'profile.cancelled', ...connector, controllerUuid: 'quay-a', data: { priority: 3 } },
    ]);
    const ids = events.map(({ id }) => Number(id));
    expect(ids).toEqual([...new Set(ids)].sort((one, other) => one - other));
    const types = 'type=profile.submitted,profile.cancelled';
    const atQuay = events.filter(
      ({ locationId, type }) => locationId === 'quay' && type.startsWith('profile'),
    );
    expect((await page(`?after=${last}&locationId=quay&${types}`)).events).toEqual(atQuay);
    for (let [after, nth] = [last, 0]; after !== newest; nth++) {
      const one = await page(`?after=${after}&limit=1`);
      expect(one).toMatchObject({ events: events.slice(nth, nth + 1), isGapless: true });
      after = one.last;
    }
    expect((await page('', RIVAL)).events.every(({ type }) => !type.startsWith('profile'))).toBe(true);
  });

  it('forgets events after a year, and shows the gap', async () => {
    const tenants = [tenantWith(HARBOUR, [site('quay')])];
    const before = await runService(tenants, {
      clock: createVirtualClock(Date.parse('2024-06-01T12:00:00Z')),
    });
    const after = await before.restart({ clock: createVirtualClock(Date.parse('2026-06-01T12:00:00Z')) });
    await eventually(async () => {
      const { events, isGapless } = bodyOf(await after.call('GET', '/events'), eventPageSchema);
      expect([events.length, isGapless]).toEqual([1, false]);
    });
    await after.stop();
  });

  it('waits for the next event, and answers as soon as it is on disk', async () => {
    const { last } = await page();
    const waiting = page(`?after=${last}&waitS=20&type=cluster.deleted`);
    const created = await service.call('POST', '/clusters', { name: 'Yard', locationIds: ['yard'] });
    const clusterId = String(Reflect.get(created.body as object, 'clusterId'));
    await service.call('DELETE', `/clusters/${clusterId}`);
    expect((await waiting).events).toMatchObject([{ type: 'cluster.deleted', data: { clusterId } }]);
  });

  it('answers without an event once the wait is over', async () => {
    const { last } = await page();
    const waiting = page(`?after=${last}&waitS=5`);
    let isOver = false;
    void waiting.then(() => {
      isOver = true;
    });
    await eventually(() => {
      clock.advance(1_000);
      expect(isOver).toBe(true);
    });
    expect(await waiting).toMatchObject({ events: [], last });
  });

  it('has alarms and ended sessions', async () => {
    const { last } = await page();
    const charger = await connectCharger(service.mqttUrl, 'quay');
    const car = { status: 'Charging', powerW: 7_000, currentA: [10, 10, 10] };
    await charger.meter('1', { ...car, session: 'a', energyWh: 1_000 });
    await eventually(async () =>
      expect((await service.call('GET', '/chargers/quay-a/connectors/1/session')).status).toBe(200),
    );
    clock.advance(5_000);
    await charger.meter('1', { status: 'Available', powerW: 0, currentA: [0, 0, 0], energyWh: 2_000 });
    await eventually(async () => {
      clock.advance(1);
      const { events } = await page(`?after=${last}&type=session.ended&locationId=quay`);
      expect(events).toMatchObject([{ connectorId: '1', by: null, data: { sessionId: 'a', energyKwh: 1 } }]);
    });
    charger.vanish();
    await eventually(async () => {
      clock.advance(1_000);
      const { events } = await page(`?after=${last}&type=alarm.began`);
      expect(events.some(({ data }) => data.kind === 'OFFLINE')).toBe(true);
    });
  });

  it('has each provisioned change and each issue and end of a credential, with its source', async () => {
    const { last } = await page();
    await provision(service.config, {
      ...tenantWith(HARBOUR, [site('quay'), site('yard', { permanentLimitKw: 40 })]),
      gateways: [{ gatewayId: 'gw', mqttSecretHash: 'g', controllers: ['quay-a' as ControllerUuid] }],
    });
    const administration = await createAdministration({ databaseUrl: databaseUrlOf(service.config) });
    await administration.addCredential({
      kind: 'client',
      id: 'by-hand',
      tenantUuid: HARBOUR,
      secretHash: 'c',
      scopes: ['org:write'],
      expiresAtMs: null,
    });
    await administration.setFeature(HARBOUR, 'later', true, clock.nowMs());
    for (const _ of [1, 2]) await administration.endCredential('client', 'by-hand', clock.nowMs());
    await administration.close();
    const request = { name: 'Back end', scopes: ['locations:read'] };
    const { body } = await service.call('POST', '/credentials/api-keys', request);
    await service.call('DELETE', `/credentials/api-keys/${body.keyId}`);
    const { events } = await page(`?after=${last}`);
    const [by, credential] = [`apiKey:${HARBOUR.slice(0, 8)}`, `apiKey:${body.keyId}`];
    expect(events).toMatchObject([
      {
        type: 'provisioning.changed',
        locationId: 'yard',
        source: 'commandLine',
        by: null,
        data: { changes: [{ action: 'updated', kind: 'location', id: 'yard' }], totalChanges: 1 },
      },
      { type: 'provisioning.changed', locationId: null, data: { changes: [{ kind: 'gateway', id: 'gw' }] } },
      { type: 'credential.issued', data: { credential: 'client:by-hand', scopes: ['org:write'] } },
      {
        type: 'provisioning.changed',
        data: { changes: [{ action: 'created', kind: 'feature', id: 'later' }] },
      },
      { type: 'credential.ended', source: 'commandLine', by: null, data: { credential: 'client:by-hand' } },
      { type: 'credential.issued', source: 'rest', by, data: { credential, ...request } },
      { type: 'credential.ended', source: 'rest', by, data: { credential } },
    ]);
    expect(JSON.stringify(events)).not.toContain('secret');
  });

  it('wakes a request that waits for a change of the command line', async () => {
    const { last } = await page();
    const waiting = page(`?after=${last}&waitS=25&locationId=quay`);
    await provision(service.config, tenantWith(HARBOUR, [site('quay', { permanentLimitKw: 49 })]));
    await eventually(() => clock.advance(2_000));
    expect((await waiting).events).toMatchObject([{ type: 'provisioning.changed', locationId: 'quay' }]);
  });

  it('shows no credentials to a caller that may not administer them', async () => {
    const { body } = await service.call('POST', '/credentials/api-keys', {
      name: 'Reader',
      scopes: ['locations:read'],
    });
    const headers = { 'x-api-key': String(body.apiKey) };
    const read = (query: string) => service.send('GET', `/events${query}`, { headers });
    const seen = bodyOf(await read(''), eventPageSchema);
    expect(seen.events.some(({ type }) => type.startsWith('credential.'))).toBe(false);
    expect(seen.last).toBe((await page()).last);
    expect(refusalOf(await read('?type=credential.ended'), 'INSUFFICIENT_SCOPE')).toContain(
      'credentials:write',
    );
  });

  it('belongs to its organization', async () => {
    const { events } = await page('', RIVAL);
    expect([...new Set(events.map(({ locationId }) => locationId))]).toEqual([null, 'rivals']);
    const answer = await service.call('GET', '/events?locationId=quay', undefined, RIVAL);
    expect(refusalOf(answer, 'LOCATION_NOT_FOUND')).toContain('quay');
  });

  it.each([
    ['after=-1', 'after'],
    ['after=1e3', 'after'],
    ['type=alarm.began,other', 'type'],
    ['limit=0', 'limit'],
    ['limit=1001', 'limit'],
    ['waitS=26', 'waitS'],
  ])('refuses %s with the name of the field', async (query, field) => {
    expect(refusalOf(await service.call('GET', `/events?${query}`), 'INVALID_REQUEST_BODY')).toContain(field);
  });

  it('goes on after a restart, which ends the waits', async () => {
    const { last, events: before } = await page('?limit=1000');
    const waiting = page(`?after=${last}&waitS=25`);
    // Requests of one client arrive in the order of their sending.
    await page();
    service = await service.restart({ clock });
    expect((await waiting).events).toEqual([]);
    await service.call('POST', '/clusters', { name: 'Later', locationIds: ['yard'] });
    const { events } = await page(`?after=${last}&type=cluster.changed`);
    expect(events).toMatchObject([{ data: { name: 'Later' } }]);
    expect((await page()).events.slice(0, before.length)).toEqual(before);
  });
});

async function addCluster(name: string, locationId = 'quay'): Promise<void> {
  const answer = await service.call('POST', '/clusters', { name, locationIds: [locationId] });
  expect(answer.status).toBe(201);
}

async function follow(query: string, more: Record<string, string> = {}): Promise<EventReader> {
  const headers = { 'x-api-key': apiKeyOf(HARBOUR), ...more };
  const reader = await readEvents(`${service.httpUrl}/v1/stream?events=logged${query}`, headers);
  closing.push(() => reader.close());
  return reader;
}

/** The events of the log that arrived, which must fit their schema. */
function logged({ events }: EventReader) {
  return events.flatMap(({ name, id, data }) => {
    const event = streamEventSchema.parse({ event: name, id: Number(id), data });
    return event.event === 'logged' ? [event.data] : [];
  });
}

describe('the stream of the event log', () => {
  it('has each event after an id, and then the next ones as they are committed', async () => {
    const { events } = await page();
    const reader = await follow('&after=0');
    await eventually(() => expect(logged(reader)).toEqual(events));
    await addCluster('Next');
    await eventually(() => expect(logged(reader).at(-1)).toMatchObject({ data: { name: 'Next' } }));
    expect(reader.events.map(({ id }) => id)).toEqual(logged(reader).map(({ id }) => id));
    expect(reader.of('gap')).toEqual([]);
  });

  it('begins now without an id, with the types and the location that the query names', async () => {
    const all = await follow('');
    const ended = await follow('&type=cluster.deleted');
    const ofQuay = await follow('&locationId=quay');
    await addCluster('Nth');
    await eventually(() => expect(logged(all)).toMatchObject([{ data: { name: 'Nth' } }]));
    expect([...ended.events, ...ofQuay.events]).toEqual([]);
  });

  it('goes on after the last event that the client received, whose id is above that of its query', async () => {
    const { events } = await page();
    const lastId = events.at(-3)?.id ?? '';
    const reader = await follow('&after=0', { 'last-event-id': lastId });
    await eventually(() => expect(logged(reader)).toEqual(events.slice(-2)));
  });

  it('resumes by itself in a client of the standard, without gap or repetition, over restarts', async () => {
    const { events: before } = await page();
    const dispatcher = getGlobalDispatcher().compose(
      (dispatch) => (options, handler) =>
        dispatch({ ...options, headers: { ...options.headers, 'x-api-key': apiKeyOf(HARBOUR) } }, handler),
    );
    const source = new EventSource(`${service.httpUrl}/v1/stream?events=logged&after=0`, { dispatcher });
    closing.push(() => source.close());
    const received: string[] = [];
    source.addEventListener('logged', (event) => {
      if (event instanceof MessageEvent) received.push(event.lastEventId);
    });
    await eventually(() => expect(received).toHaveLength(before.length));
    for (const name of ['First', 'Second']) {
      service = await service.restart({ clock });
      await addCluster(`${name} after the restart`);
      const { events } = await page();
      await eventually(() => expect(received).toEqual(events.map(({ id }) => id)));
    }
    expect(received.length).toBe(before.length + 2);
  });

  it('reports a gap to a client with an id of a database that was replaced, and goes on', async () => {
    const reader = await follow('&after=100000');
    await eventually(() => expect(reader.of('gap')).toMatchObject([{ data: { after: '100000' } }]));
    await addCluster('After the gap');
    await eventually(() => expect(logged(reader)).toMatchObject([{ data: { name: 'After the gap' } }]));
  });

  it.each([
    ['?events=logged&after=x', {}, 'after'],
    ['?events=logged', { 'last-event-id': 'x' }, 'Last-Event-ID'],
    ['?after=1', {}, 'events=logged'],
    ['?type=alarm.began', {}, 'events=logged'],
    ['?events=other', {}, 'events'],
    ['?events=logged&type=other', {}, 'type'],
  ])('refuses %s %j with the name of the field', async (query, more, field) => {
    const headers = { 'x-api-key': apiKeyOf(HARBOUR), ...more };
    const answer = await service.send('GET', `/stream${query}`, { headers });
    expect(refusalOf(answer, 'INVALID_REQUEST_BODY')).toContain(field);
  });

  it('refuses a location of another organization', async () => {
    const headers = { 'x-api-key': apiKeyOf(RIVAL) };
    const answer = await service.send('GET', '/stream?events=logged&locationId=quay', { headers });
    expect(refusalOf(answer, 'LOCATION_NOT_FOUND')).toContain('quay');
  });
});
