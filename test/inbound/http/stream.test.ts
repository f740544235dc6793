// The event stream as a connection: permission, number, duration, and the cost of a slow client.
import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { StreamEvent } from '../../../src/features/stream-contract.js';
import type { Scope } from '../../../src/ports/records.js';
import { hashSecret } from '../../../src/secrets.js';
import { eventually } from '../../eventually.js';
import { type EventReader, readEvents } from './event-reader.js';
import { LOCATION, TENANT } from './fake-application.js';
import {
  API_KEY,
  apiKeyRecord,
  bearer,
  clientRecord,
  createRig,
  credentialSet,
  OTHER_API_KEY,
  type Rig,
} from './http-rig.js';

const KEY = { 'x-api-key': API_KEY };
const AT_MOST = 20;

let rig: Rig;
const readers: EventReader[] = [];
beforeEach(async () => {
  rig = await createRig();
});
afterEach(async () => {
  for (const reader of readers.splice(0)) reader.close();
  await rig.stop();
});

async function open(headers: Record<string, string> = KEY, query = ''): Promise<EventReader> {
  const reader = await readEvents(`${rig.url}/v1/stream${query}`, headers);
  readers.push(reader);
  return reader;
}

let lastId = 0;
function tell(actualKw: number): void {
  const at = '2026-06-01T12:00:00.000Z';
  const data = { locationId: LOCATION, at, actualKw, estimatedKw: null };
  const event: StreamEvent = { id: ++lastId, event: 'power', data };
  for (const listener of rig.listeners) listener(event);
}

function until(check: () => unknown): Promise<unknown> {
  return eventually(check);
}

describe('GET /v1/stream', () => {
  it('sends each event with its id, name and data, as server-sent events', async () => {
    const stream = await open();
    expect(stream.status).toBe(200);
    expect(stream.headers['content-type']).toBe('text/event-stream; charset=utf-8');
    expect(stream.headers['cache-control']).toBe('no-store');
    expect(stream.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
    tell(7.4);
    tell(8);
    await until(() => expect(stream.events).toHaveLength(2));
    expect(stream.events[0]).toEqual({
      name: 'power',
      id: String(lastId - 1),
      data: { locationId: LOCATION, at: '2026-06-01T12:00:00.000Z', actualKw: 7.4, estimatedKw: null },
    });
    expect(stream.events[1]?.id).toBe(String(lastId));
  });

  it('follows one location where the query names it, of the tenant of the credential', async () => {
    await open(KEY, `?locationId=${LOCATION}`);
    expect(rig.asked.at(-1)).toEqual(['subscribe', TENANT, LOCATION]);
    const unknown = await rig.call('GET', '/v1/stream?locationId=nowhere', { headers: KEY });
    expect([unknown.status, await unknown.json()]).toMatchObject([
      404,
      { error: { code: 'LOCATION_NOT_FOUND' } },
    ]);
    const twice = await rig.call('GET', '/v1/stream?locationId=a&locationId=b', { headers: KEY });
    expect(twice.status).toBe(400);
  });

  it('is refused where other endpoints are, and answers HEAD with its headers alone', async () => {
    for (const [headers, status] of [
      [{}, 401],
      [bearer(rig, { scopes: ['clusters:read'] }), 403],
    ] as const) {
      expect((await rig.call('GET', '/v1/stream', { headers })).status).toBe(status);
    }
    const head = await rig.call('HEAD', '/v1/stream', { headers: KEY });
    expect([head.status, head.headers.get('content-type')]).toEqual([
      200,
      'text/event-stream; charset=utf-8',
    ]);
    expect(rig.listeners.size).toBe(0);
  });

  it('sends a comment every 15 s, so that nobody on the way takes it for dead', async () => {
    const stream = await open();
    await until(() => expect(stream.comments).toEqual(['listening']));
    rig.time.tick(14_999);
    rig.time.tick(1);
    await until(() => expect(stream.comments).toEqual(['listening', 'heartbeat']));
    rig.time.tick(15_000);
    await until(() => expect(stream.comments).toHaveLength(3));
  });

  it('forgets a client that left', async () => {
    const stream = await open();
    await until(() => expect(stream.comments).toEqual(['listening']));
    expect(rig.listeners.size).toBe(1);
    stream.close();
    await until(() => expect(rig.listeners.size).toBe(0));
  });

  it(`is open ${AT_MOST} times for a tenant and not once more, at any number for other tenants`, async () => {
    const streams = [];
    for (let n = 0; n < AT_MOST; n++) streams.push(await open());
    const refused = await rig.call('GET', '/v1/stream', { headers: KEY });
    expect([refused.status, await refused.json()]).toMatchObject([429, { error: { code: 'RATE_LIMITED' } }]);
    expect(refused.headers.get('retry-after')).toBe('15');
    expect((await open({ 'x-api-key': OTHER_API_KEY })).status).toBe(200);
    streams[0]?.close();
    await until(() => expect(rig.listeners.size).toBe(AT_MOST));
    expect((await open()).status).toBe(200);
  });

  it('costs no memory without bound where its client does not read', async () => {
    const { hostname, port } = new URL(rig.url);
    const socket = connect(Number(port), hostname);
    socket.pause();
    socket.write(`GET /v1/stream HTTP/1.1\r\nhost: x\r\nx-api-key: ${API_KEY}\r\n\r\n`);
    const reading = await open();
    await until(() => expect(rig.listeners.size).toBe(2));
    // More than the sockets of both ends hold, in portions that a reading client keeps up with.
    for (let portion = 1; rig.listeners.size === 2 && portion <= 200; portion++) {
      for (let n = 0; n < 2_000; n++) tell(n);
      await until(() => expect(reading.events).toHaveLength(portion * 2_000));
    }
    expect(rig.listeners.size).toBe(1);
    expect(rig.logLines.some((line) => line.includes('reads too slowly'))).toBe(true);
    socket.destroy();
  });
});

describe('a stream ends, with the reason', () => {
  async function expectEnd(stream: EventReader, code: string): Promise<void> {
    await stream.ended;
    expect(stream.events.at(-1)).toMatchObject({ name: 'closed', data: { code } });
    expect(rig.listeners.size).toBe(0);
  }

  it('when its key is revoked', async () => {
    const stream = await open();
    rig.credentials.replace(credentialSet({ apiKeys: [apiKeyRecord({ endedAtMs: rig.time.now })] }));
    rig.time.tick(1000);
    await expectEnd(stream, 'UNAUTHORIZED');
  });

  it('when its key gets another secret', async () => {
    const stream = await open();
    rig.credentials.replace(credentialSet({ apiKeys: [apiKeyRecord({ secretHash: 'another' })] }));
    rig.time.tick(1000);
    await expectEnd(stream, 'UNAUTHORIZED');
  });

  it('when its client is disabled', async () => {
    const stream = await open(bearer(rig));
    rig.credentials.replace(credentialSet({ oauthClients: [clientRecord({ endedAtMs: rig.time.now })] }));
    rig.time.tick(1000);
    await expectEnd(stream, 'UNAUTHORIZED');
  });

  it('when its client gets another secret', async () => {
    const stream = await open(bearer(rig));
    const secretHash = hashSecret('another secret');
    rig.credentials.replace(credentialSet({ oauthClients: [clientRecord({ secretHash })] }));
    rig.time.tick(1000);
    await expectEnd(stream, 'UNAUTHORIZED');
  });

  it.each(['key', 'client'])(
    'when its %s may no longer read locations, and not for other scopes',
    async (of) => {
      const stream = await open(of === 'key' ? KEY : bearer(rig));
      const withScopes = (scopes: readonly Scope[]) =>
        credentialSet({ apiKeys: [apiKeyRecord({ scopes })], oauthClients: [clientRecord({ scopes })] });
      rig.credentials.replace(withScopes(['locations:read']));
      rig.time.tick(1000);
      expect(rig.listeners.size).toBe(1);
      rig.credentials.replace(withScopes(['clusters:read']));
      rig.time.tick(1000);
      await expectEnd(stream, 'INSUFFICIENT_SCOPE');
    },
  );

  it('when its key may no longer read the events of credentials that the log has', async () => {
    const held = (...scopes: readonly Scope[]) =>
      rig.credentials.replace(credentialSet({ apiKeys: [apiKeyRecord({ scopes })] }));
    held('locations:read', 'credentials:write', 'org:write');
    const stream = await open(KEY, '?events=logged');
    await until(() => expect(stream.comments).toEqual(['listening']));
    held('locations:read', 'credentials:write');
    rig.time.tick(1000);
    held('locations:read');
    rig.time.tick(1000);
    await expectEnd(stream, 'INSUFFICIENT_SCOPE');
    const again = await open(KEY, '?events=logged');
    rig.time.tick(1000);
    expect(again.of('closed')).toEqual([]);
  });

  it('when its token expires, and not before', async () => {
    const stream = await open(bearer(rig));
    rig.time.tick(3_599_000);
    expect(rig.listeners.size).toBe(1);
    rig.time.tick(1000);
    await expectEnd(stream, 'UNAUTHORIZED');
  });

  it('when the feature is switched off', async () => {
    const stream = await open();
    rig.credentials.replace(
      credentialSet({ tenants: [{ tenantUuid: TENANT, name: 'Harbour Charging', features: [] }] }),
    );
    rig.time.tick(1000);
    await expectEnd(stream, 'FEATURE_NOT_ENABLED');
  });

  it('when the service stops, which it does not hold up', async () => {
    const streams = [await open(), await open()];
    await rig.server.stop();
    for (const stream of streams) await expectEnd(stream, 'SERVICE_UNAVAILABLE');
  });
});
