// One request to the receiver of a webhook, and its bounds of time and memory.
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { TenantUuid } from '../../../machines/values/ids.js';
import { createVirtualClock } from '../../../sim/virtual-clock.js';
import { createWebhookSender } from '../../../src/outbound/http/webhook-sender.js';
import { eventually } from '../../eventually.js';

const clock = createVirtualClock(0);
const send = createWebhookSender({ clock, isPrivateAllowed: true });

let server: Server | undefined;
afterEach(async () => {
  if (server === undefined) return;
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
  server = undefined;
});

async function listen(answer: RequestListener): Promise<string> {
  server = createServer(answer);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port }: AddressInfo = server.address() as AddressInfo;
  return `http://127.0.0.1:${port}/`;
}

function sendTo(url: string, signal = new AbortController().signal) {
  return send({ tenantUuid: 'harbour' as TenantUuid, url, headers: {}, body: '{}', signal });
}

describe('a request of a webhook', () => {
  it('is delivered by any status of success, and by no other', async () => {
    for (const status of [200, 202, 204, 299]) {
      const url = await listen((_, response) => response.writeHead(status).end());
      expect(await sendTo(url)).toBeUndefined();
      server?.close();
    }
    for (const status of [301, 400, 410, 500]) {
      const url = await listen((_, response) => response.writeHead(status).end());
      expect(await sendTo(url)).toMatchObject({ error: expect.stringContaining(`answered ${status}`) });
      server?.close();
    }
  });

  it('goes over the connection of the one before, and over a new one if the receiver has closed that', async () => {
    const sockets = new Set<Socket>();
    let [requests, isCut] = [0, false];
    const url = await listen((request, response) => {
      requests++;
      const isKnown = sockets.has(request.socket);
      sockets.add(request.socket);
      if (isCut && isKnown) request.socket.destroy();
      else response.end();
    });
    for (let nth = 0; nth < 3; nth++) expect(await sendTo(url)).toBeUndefined();
    expect(sockets.size).toBe(1);
    isCut = true;
    expect(await sendTo(url)).toBeUndefined();
    expect([requests, sockets.size]).toEqual([5, 2]);
  });

  it('is repeated after the time that the receiver asks for', async () => {
    const url = await listen((_, response) => response.writeHead(429, { 'retry-after': '90' }).end());
    expect(await sendTo(url)).toEqual({ error: 'answered 429', retryAfterMs: 90_000 });
  });

  it('fails if the whole answer takes more than 10 s', async () => {
    let arrived = 0;
    const url = await listen((_, response) => {
      arrived++;
      if (arrived === 2) response.writeHead(200).write('begun');
    });
    for (const nth of [1, 2]) {
      const sent = sendTo(url);
      await eventually(() => expect(arrived).toBe(nth));
      clock.advance(10_000);
      expect(await sent).toEqual({ error: 'no whole answer within 10 s' });
    }
  });

  it('reads no answer without end', async () => {
    let isCut = false;
    const url = await listen((_, response) => {
      response.writeHead(200);
      const write = () => {
        while (response.write('x'.repeat(10_000)));
        response.once('drain', write);
      };
      response.on('close', () => {
        isCut = true;
      });
      write();
    });
    expect(await sendTo(url)).toBeUndefined();
    await eventually(() => expect(isCut).toBe(true));
  });

  it('goes to no private address and over no http without leave, also for a URL from a time with it', async () => {
    const strict = createWebhookSender({ clock, isPrivateAllowed: false });
    let requests = 0;
    const url = await listen((_, response) => {
      requests++;
      response.end();
    });
    const { signal } = new AbortController();
    const sent = (to: string) =>
      strict({ tenantUuid: 'harbour' as TenantUuid, url: to, headers: {}, body: '{}', signal });
    expect(await sent(url.replace('http:', 'https:'))).toMatchObject({
      error: expect.stringContaining('private address'),
    });
    expect(await sent(url)).toMatchObject({ error: expect.stringContaining('must be https') });
    expect(requests).toBe(0);
  });

  it('fails if the receiver cuts the connection, is not there, or the service stops', async () => {
    const url = await listen((request) => request.socket.destroy());
    expect(await sendTo(url)).toMatchObject({ error: expect.any(String) });
    server?.close();
    expect(await sendTo(url)).toMatchObject({ error: expect.any(String) });
    const stopping = new AbortController();
    const silent = await listen(() => stopping.abort());
    expect(await sendTo(silent, stopping.signal)).toMatchObject({ error: expect.any(String) });
  });
});
