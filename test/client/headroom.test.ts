// `headroom/client` against a service, with a proxy before it that refuses requests and cuts connections.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createHeadroom, type HeadroomOptions, type StreamItem } from '../../client/headroom.js';
import { type ServedSite, serveSite } from '../cli/served-site.js';
import { API_KEY } from '../cli/site.js';
import { eventually } from '../eventually.js';
import { freePort } from '../free-port.js';
import { openFaultyProxy } from './faulty-proxy.js';

const LOCATION = { path: { locationId: 'quay-1' } };
const PROFILE = {
  priority: 5,
  limitKw: 22,
  startTime: '2030-06-01T17:00:00Z',
  endTime: '2030-06-01T19:00:00Z',
};
const EXAMPLE = fileURLToPath(new URL('../../docs/examples/client/evening.js', import.meta.url));

let site: ServedSite;
beforeAll(async () => {
  site = await serveSite();
});
afterAll(() => site.close());

async function openProxy() {
  const proxy = await openFaultyProxy(site.httpUrl);
  return {
    ...proxy,
    headroom: (options?: Partial<HeadroomOptions>) =>
      createHeadroom({ url: proxy.url, apiKey: API_KEY, ...options }),
  };
}

describe('A client', () => {
  it('sets and reads a limit', async () => {
    const headroom = createHeadroom({ url: `${site.httpUrl}/`, apiKey: API_KEY });
    await headroom.put('/v1/locations/{locationId}/limit', { ...LOCATION, body: { limitKw: 42 } });
    expect(await headroom.get('/v1/locations/{locationId}/limits', LOCATION)).toMatchObject({
      effectiveLimitKw: 42,
      permanentLimitKw: 42,
    });
  });

  it('signs in as an OAuth client once, and renews a token that is refused', async () => {
    const { url, give, received } = await openProxy();
    const client = { clientId: 'harbour-backend', clientSecret: 'backend-secret' };
    const headroom = createHeadroom({ url, ...client });
    const ask = () => headroom.get('/v1/locations/{locationId}/limits', LOCATION);
    await Promise.all([ask(), ask()]);
    const isToken = (line: string) => line === 'POST /v1/oauth/token';
    expect(received.filter(isToken)).toHaveLength(1);
    give(401);
    await ask();
    expect(received.filter(isToken)).toHaveLength(2);
    for await (const item of headroom.stream()) {
      expect(item.event).toBe('opened');
      break;
    }
    const stranger = createHeadroom({ url, ...client, clientSecret: 'another-secret' });
    for (const refused of [stranger.get('/v1/locations'), stranger.stream().next()])
      await expect(refused).rejects.toMatchObject({ status: 401, code: 'UNAUTHORIZED' });
  });

  it('rests before it opens a lost stream again, also if a proxy asks for no rest, and reports each loss', async () => {
    const { headroom, give, cutAll } = await openProxy();
    const losses: number[] = [];
    const stream = headroom({ onRetry: ({ status }) => losses.push(status) }).stream();
    await stream.next();
    const lostAtMs = performance.now();
    give(503, 503);
    cutAll();
    while ((await stream.next()).value.event !== 'opened');
    expect(performance.now() - lostAtMs).toBeGreaterThan(1_000);
    expect(losses).toEqual([0, 503, 503]);
    await stream.return(undefined as never);
  });

  it('refuses a key that no header can carry, without a request', async () => {
    const { headroom, received } = await openProxy();
    await expect(headroom({ apiKey: 'hr_ü' }).get('/v1/locations')).rejects.toMatchObject({ status: 401 });
    expect(received).toEqual([]);
  });

  it('sends headers, reports the ETag of an answer, and repeats nothing if its listener throws', async () => {
    const { headroom, received } = await openProxy();
    const body = { name: 'Tagged', locationIds: ['quay-1'] };
    const header = { 'Idempotency-Key': '"tagged"' };
    const [created, again] = [
      await headroom().post('/v1/clusters', { body, header }),
      await headroom().post('/v1/clusters', { body, header }),
    ];
    expect(again).toEqual(created);
    const path = { clusterId: created.clusterId };
    const tags: (string | undefined)[] = [];
    await headroom().get('/v1/clusters/{clusterId}', {
      path,
      onAnswer: ({ entityTag }) => tags.push(entityTag),
    });
    const change = { path, header: { 'If-Match': tags[0] ?? '' }, body: { limitKw: 20 } };
    await headroom().patch('/v1/clusters/{clusterId}', change);
    await expect(headroom().patch('/v1/clusters/{clusterId}', change)).rejects.toMatchObject({ status: 412 });
    const sent = received.length;
    const onAnswer = () => {
      throw new Error('a defect of the listener');
    };
    await expect(headroom().delete('/v1/clusters/{clusterId}', { path, onAnswer })).rejects.toThrow('defect');
    expect(received).toHaveLength(sent + 1);
  });

  it('opens an answer of another type as it is', async () => {
    const headroom = createHeadroom({ url: site.httpUrl, apiKey: API_KEY });
    const response = await headroom.open('/v1/energy?groupBy=location', { accept: 'text/csv' });
    expect(await response.text()).toMatch(/^period,locationId/);
    await expect(headroom.open('/v1/nothing')).rejects.toMatchObject({ status: 404, code: 'NOT_FOUND' });
  });

  it('throws the refusal of the service as its error', async () => {
    const headroom = createHeadroom({ url: site.httpUrl, apiKey: API_KEY });
    await expect(
      headroom.get('/v1/locations/{locationId}/limits', { path: { locationId: 'quay/1?' } }),
    ).rejects.toMatchObject({
      name: 'HeadroomError',
      status: 404,
      code: 'LOCATION_NOT_FOUND',
      message: expect.stringContaining('quay/1?'),
      requestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
  });

  it('repeats a request that the service was too busy for, and a read without an answer', async () => {
    const { headroom, give, received } = await openProxy();
    give('cut', 'loseAnswer', 429, 503);
    expect(await headroom().get('/v1/locations')).toMatchObject({ count: 1 });
    expect(received).toHaveLength(5);
  });

  it('waits as long as the service asks', async () => {
    const { headroom, give } = await openProxy();
    give(429);
    const begunAtMs = performance.now();
    await headroom().get('/v1/locations');
    // The first wait of its own is at most 0.625 s. A timer may end a little early.
    expect(performance.now() - begunAtMs).toBeGreaterThan(990);
  });

  it('gives up after its last attempt, and names the reason', async () => {
    const { headroom, give, received } = await openProxy();
    give(503, 503, 503);
    await expect(headroom({ attempts: 2 }).get('/v1/locations')).rejects.toMatchObject({
      status: 503,
      code: 'UNKNOWN_ANSWER',
    });
    expect(received).toHaveLength(2);
    const nobody = createHeadroom({
      url: `http://127.0.0.1:${await freePort()}`,
      apiKey: API_KEY,
      attempts: 1,
    });
    await expect(nobody.get('/v1/locations')).rejects.toMatchObject({
      status: 0,
      code: 'NO_ANSWER',
      message: expect.stringContaining('ECONNREFUSED'),
    });
  });

  it('sends its key to no other server', async () => {
    const { received, url } = await openProxy();
    const elsewhere = createServer((_, response) => void response.writeHead(307, { location: url }).end());
    await new Promise<void>((resolve) => void elsewhere.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void elsewhere.close());
    const { port } = elsewhere.address() as AddressInfo;
    const headroom = createHeadroom({ url: `http://127.0.0.1:${port}`, apiKey: API_KEY, attempts: 1 });
    const lost = { status: 0, message: expect.stringContaining('redirect') };
    await expect(headroom.get('/v1/locations')).rejects.toMatchObject(lost);
    await expect(headroom.stream().next()).rejects.toMatchObject(lost);
    expect(received).toEqual([]);
  });

  it('makes one cluster for each call, and one entry in a history, however many answers are lost', async () => {
    const { headroom, give, received } = await openProxy();
    const client = headroom();
    const cluster = { name: 'Harbour', locationIds: ['quay-1'] };
    give('loseAnswer', 'cut', 503, 'loseAnswer');
    const { clusterId } = await client.post('/v1/clusters', { body: cluster });
    expect(received).toHaveLength(5);
    expect(await client.get('/v1/clusters')).toMatchObject({ clusters: [{ clusterId }] });
    await client.post('/v1/clusters', { body: cluster });
    expect(await client.get('/v1/clusters')).toMatchObject({ count: 2 });
    give('loseAnswer');
    const schedule = { ...LOCATION, body: PROFILE };
    expect(await client.post('/v1/locations/{locationId}/schedules', schedule)).toMatchObject({
      status: 'SCHEDULED',
    });
    const { submissions } = await client.get('/v1/locations/{locationId}/history', {
      ...LOCATION,
      query: { from: '2030-01-01T00:00:00Z', to: '2031-01-01T00:00:00Z' },
    });
    expect(submissions).toHaveLength(1);
  });

  it('ends with the reason of its signal, also while it waits', async () => {
    const { headroom, give, received } = await openProxy();
    give('cut', 'cut', 'cut', 'cut');
    const stop = new AbortController();
    const asked = headroom().get('/v1/locations', { signal: stop.signal });
    await eventually(() => expect(received).not.toEqual([]));
    stop.abort(new Error('the user left'));
    await expect(asked).rejects.toThrow('the user left');
  });

  it('reads all pages of a history', async () => {
    const headroom = createHeadroom({ url: site.httpUrl, apiKey: API_KEY });
    for (const limitKw of [11, 12, 13])
      await headroom.post('/v1/locations/{locationId}/schedules', {
        ...LOCATION,
        body: { ...PROFILE, priority: 7, limitKw },
      });
    const pages: (readonly number[])[] = [];
    const history = headroom.pages('/v1/locations/{locationId}/history', {
      ...LOCATION,
      query: { limit: 2 },
    });
    for await (const { submissions } of history) pages.push(submissions.map(({ limitKw }) => limitKw));
    expect(pages.length).toBeGreaterThan(1);
    expect(pages.flat().slice(-3)).toEqual([11, 12, 13]);
  });
});

describe('A stream', () => {
  /** Collects items until the test stops it. */
  function follow(items: AsyncIterable<StreamItem>): {
    readonly received: StreamItem[];
    ended: Promise<unknown>;
  } {
    const received: StreamItem[] = [];
    const read = async () => {
      for await (const item of items) received.push(item);
    };
    return { received, ended: read().catch((error: unknown) => error) };
  }

  it('reports each opening and each event, and continues after a lost connection', async () => {
    const { headroom, cutAll, give, received: requests } = await openProxy();
    const stop = new AbortController();
    const client = headroom();
    const stream = follow(client.stream({ locationId: 'quay-1', signal: stop.signal }));
    const countOf = (event: StreamItem['event']) =>
      stream.received.filter((each) => each.event === event).length;
    await eventually(() => expect(countOf('power')).toBe(1));
    expect(stream.received[0]).toEqual({ event: 'opened' });
    give('cut', 503);
    cutAll();
    await eventually(() => expect([countOf('opened'), countOf('power')]).toEqual([2, 2]));
    expect(requests.filter((each) => each.includes('/v1/stream'))).toHaveLength(4);
    await client.put('/v1/locations/{locationId}/limit', { ...LOCATION, body: { limitKw: 31 } });
    await eventually(() =>
      expect(stream.received).toContainEqual(
        expect.objectContaining({ event: 'gridLimit', data: expect.objectContaining({ gridLimitKw: 31 }) }),
      ),
    );
    stop.abort();
    expect(await stream.ended).toMatchObject({ name: 'AbortError' });
  });

  it('ends its connection if its reader leaves', async () => {
    const { headroom } = await openProxy();
    for await (const item of headroom().stream()) if (item.event === 'power') break;
    // The proxy's end at the end of the test waits for open connections.
  });

  it('throws the refusal of a location or a credential', async () => {
    const headroom = createHeadroom({ url: site.httpUrl, apiKey: API_KEY });
    await expect(headroom.stream({ locationId: 'nowhere' }).next()).rejects.toMatchObject({ status: 404 });
    const stranger = createHeadroom({ url: site.httpUrl, apiKey: 'hr_stranger1_x' });
    await expect(stranger.stream().next()).rejects.toMatchObject({ status: 401, code: 'UNAUTHORIZED' });
  });
});

it('The client loads no module of Node, so browsers run it', () => {
  const loaded = new Set(['client.js']);
  for (const name of loaded)
    for (const [, path = ''] of readFileSync(`dist/command/${name}`, 'utf8').matchAll(/^import .*"(.+)";$/gm))
      loaded.add(path.replace('./', ''));
  expect([...loaded].filter((name) => !existsSync(`dist/command/${name}`))).toEqual([]);
  expect(loaded.size).toBeGreaterThan(1);
});

it('The example for Node runs as it is', async () => {
  const env = { ...process.env, HEADROOM_URL: site.httpUrl, HEADROOM_KEY: API_KEY };
  const child = spawn(process.execPath, [EXAMPLE], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  await eventually(() => expect(lines).toHaveLength(2));
  child.kill();
  await once(child, 'exit');
  expect(lines).toEqual([expect.stringMatching(/^quay-1 has 15\.5 kW until /), 'quay-1 draws 0 kW']);
});
