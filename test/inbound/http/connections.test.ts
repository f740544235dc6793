// Connections of hostile clients: silent, unread, pipelined without end, too many. Each is bounded and freed.
import { afterEach, describe, expect, it } from 'vitest';
import { requestText, statusesOf } from '../../../tools/bench/http-bytes.js';
import { eventually } from '../../eventually.js';
import { API_KEY, createRig, type Rig, type RigOptions } from './http-rig.js';
import { type RawClient, rawClient } from './raw-client.js';

const KEY = { 'x-api-key': API_KEY };
const HEALTH = requestText('GET', '/health');
const WAITING_AT_MOST = 16;
const LIMITS_VIEW = { permanentLimitKw: 50, effectiveLimitKw: 50, profiles: [] };

let rig: Rig;
afterEach(() => {
  const stopped = rig.stop();
  // Skips the time in which connections may end cleanly.
  rig.time.tick(10_000);
  return stopped;
});

/** An application that holds deletions of clusters, in order of arrival, until the test releases them. */
function heldDeletions() {
  const held: { readonly clusterId: string; readonly letGo: () => void }[] = [];
  const answers: NonNullable<RigOptions['answers']> = {
    deleteCluster: ({ path: { clusterId = '' } }) =>
      new Promise((resolve) => {
        held.push({ clusterId, letGo: () => resolve({ deleted: true, clusterId }) });
      }),
  };
  return { answers, held };
}

const deletion = (clusterId: string) => requestText('DELETE', `/v1/clusters/${clusterId}`, KEY);

async function refusals(): Promise<Record<string, number>> {
  const { values } = await rig.metrics.httpRefusals.get();
  return Object.fromEntries(values.map(({ labels, value }) => [labels.reason, value]));
}

async function openConnections(): Promise<number | undefined> {
  return (await rig.metrics.httpConnections.get()).values[0]?.value;
}

/** Connects one after another, so that their order is known. */
async function clients(count: number, localAddress?: string): Promise<readonly RawClient[]> {
  const made: RawClient[] = [];
  for (let i = 0; i < count; i++) {
    made.push(await rawClient(rig.url, localAddress === undefined ? {} : { localAddress }));
  }
  return made;
}

describe('requests that are sent without waiting for answers', () => {
  it('are worked on one after another, and answered in their order', async () => {
    const { answers, held } = heldDeletions();
    rig = await createRig({ answers });
    const client = await rawClient(rig.url);
    client.send(deletion('c-1') + deletion('c-2') + HEALTH);
    await eventually(() => expect(held).toHaveLength(1));
    // The server has read all three by the time another client is answered.
    expect((await rig.call('GET', '/health')).status).toBe(200);
    expect([held.length, client.text()]).toEqual([1, '']);
    held[0]?.letGo();
    await eventually(() => expect(held.map(({ clusterId }) => clusterId)).toEqual(['c-1', 'c-2']));
    held[1]?.letGo();
    await eventually(() => expect(statusesOf(client.text())).toEqual([200, 200, 200]));
  });

  it('may be as many as 17, one that is answered and 16 that wait', async () => {
    rig = await createRig();
    const client = await rawClient(rig.url);
    client.send(HEALTH.repeat(1 + WAITING_AT_MOST));
    await eventually(() => expect(statusesOf(client.text())).toHaveLength(1 + WAITING_AT_MOST));
    expect(await refusals()).toEqual({});
  });

  it('cut their connection when they are more, and waiting ones are never begun', async () => {
    const { answers, held } = heldDeletions();
    rig = await createRig({ answers });
    const client = await rawClient(rig.url);
    client.send(deletion('c').repeat(2 + WAITING_AT_MOST));
    expect(await client.over).toBe('');
    expect([await refusals(), held.length]).toEqual([{ pipelined: 1 }, 1]);
    held[0]?.letGo();
    await eventually(() => expect(rig.logLines.join('')).toContain('"status":499'));
    expect(held).toHaveLength(1);
    expect(rig.logLines.join('')).toContain('too many requests wait on it');
    await eventually(async () => expect(await openConnections()).toBe(0));
  });

  it('are forgotten when their client leaves', async () => {
    const { answers, held } = heldDeletions();
    rig = await createRig({ answers });
    const client = await rawClient(rig.url);
    client.send(deletion('c-1') + deletion('c-2'));
    await eventually(() => expect(held).toHaveLength(1));
    client.socket.destroy();
    await eventually(() => expect(rig.logLines.join('')).toContain('"status":499'));
    held[0]?.letGo();
    expect((await rig.call('GET', '/health')).status).toBe(200);
    expect(held).toHaveLength(1);
  });

  it('wait a thousand at once, at any number of connections, and again once those are gone', async () => {
    const { answers, held } = heldDeletions();
    rig = await createRig({ answers });
    const full = Math.floor(1000 / WAITING_AT_MOST);
    const crowd = await clients(full + 1);
    for (const client of crowd) client.send(deletion('c').repeat(1 + WAITING_AT_MOST));
    await eventually(async () => expect(await refusals()).toEqual({ pipelined: 1 }));
    expect(held).toHaveLength(full + 1);
    for (const client of crowd) client.socket.destroy();
    await eventually(async () => expect(await openConnections()).toBe(0));
    const [late] = await clients(1);
    late?.send(HEALTH.repeat(1 + WAITING_AT_MOST));
    await eventually(() => expect(statusesOf(late?.text() ?? '')).toHaveLength(1 + WAITING_AT_MOST));
  });
});

describe('a connection whose client does nothing', () => {
  it('receives 408 and is closed, though the client keeps its side open', async () => {
    rig = await createRig({ settings: { httpHeaderTimeoutS: 0.2 } });
    const [silent] = await clients(1);
    expect(statusesOf((await silent?.over) ?? '')).toEqual([408]);
    expect([await openConnections(), await refusals()]).toEqual([1, { late: 1 }]);
    rig.time.tick(1_000);
    await eventually(async () => expect(await openConnections()).toBe(0));
  });

  it('is cut when its answer stays unread', async () => {
    // More than the sockets' own buffers hold.
    const getLocationLimits = () => ({ ...LIMITS_VIEW, locationId: 'x'.repeat(20_000_000) });
    rig = await createRig({ silentAtMostMs: 300, answers: { getLocationLimits } });
    const client = await rawClient(rig.url, { isReading: false });
    client.send(requestText('GET', '/v1/locations/quay-1/limits', KEY));
    await eventually(async () => expect(await refusals()).toEqual({ silent: 1 }));
    await eventually(async () => expect(await openConnections()).toBe(0));
  });

  it('keeps a service that stops waiting for 2 s, whether it has sent nothing or half a request', async () => {
    rig = await createRig();
    const [silent, half] = await clients(2);
    half?.send('POST /v1/oauth/token HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n');
    half?.send('content-length: 9\r\n\r\n{');
    expect((await rig.call('GET', '/health')).status).toBe(200);
    const stopped = rig.server.stop();
    rig.time.tick(1_999);
    expect([silent?.isOver(), half?.isOver()]).toEqual([false, false]);
    rig.time.tick(1);
    await stopped;
    expect([await silent?.over, await half?.over]).toEqual(['', '']);
  });
});

describe('too many connections', () => {
  it('close the one that has waited longest for its client, and the new one is answered', async () => {
    rig = await createRig({ settings: { httpConnections: 3 } });
    const [first, second, third] = await clients(3);
    first?.send(HEALTH);
    await eventually(() => expect(statusesOf(first?.text() ?? '')).toEqual([200]));
    const [fourth] = await clients(1);
    fourth?.send(HEALTH);
    await eventually(() => expect(statusesOf(fourth?.text() ?? '')).toEqual([200]));
    await second?.over;
    expect([first?.isOver(), second?.isOver(), third?.isOver()]).toEqual([false, true, false]);
    expect([await refusals(), await openConnections()]).toEqual([{ room: 1 }, 3]);
  });

  it('are refused where something is worked on for each of them, and these are answered', async () => {
    const { answers, held } = heldDeletions();
    rig = await createRig({ answers, settings: { httpConnections: 2 } });
    const busy = await clients(2);
    for (const client of busy) client.send(deletion('c-1'));
    await eventually(() => expect(held).toHaveLength(2));
    const [refused] = await clients(1);
    expect(await refused?.over).toBe('');
    expect(await refusals()).toEqual({ connections: 1 });
    expect(rig.logLines.join('')).toContain('HEADROOM_HTTP_CONNECTIONS');
    for (const { letGo } of held) letGo();
    for (const client of busy) await eventually(() => expect(statusesOf(client.text())).toEqual([200]));
  });

  it('of one address close their own, and leave the others theirs', async () => {
    rig = await createRig({ settings: { httpConnections: 10, httpConnectionsPerAddress: 3 } });
    const [other] = await clients(1, '127.0.0.2');
    const flood = await clients(5, '127.0.0.3');
    await flood[1]?.over;
    expect(flood.map(({ isOver }) => isOver())).toEqual([true, true, false, false, false]);
    expect([other?.isOver(), await refusals()]).toEqual([false, { room: 2 }]);
  });

  it('never take more than a quarter of the files that may be open', async () => {
    rig = await createRig({ openFiles: 10 });
    const flood = await clients(6);
    await flood[2]?.over;
    expect(flood.filter(({ isOver }) => !isOver())).toHaveLength(3);
    expect(rig.logLines.join('')).toContain('the limit of open files is low: HTTP takes fewer connections');
  });

  it('are counted down when their clients leave', async () => {
    rig = await createRig({ settings: { httpConnections: 5, httpConnectionsPerAddress: 5 } });
    for (let round = 0; round < 3; round++) {
      const crowd = await clients(5);
      for (const client of crowd) client.socket.destroy();
      await eventually(async () => expect(await openConnections()).toBe(0));
    }
    expect(await refusals()).toEqual({});
  });
});
