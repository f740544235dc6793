// Calls of a charger over a real socket, on a virtual clock: in their order, and none waits for ever.
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { type IHandlersOption, RPCClient, RPCServer } from 'ocpp-rpc';
import type * as serverClient from 'ocpp-rpc/lib/server-client.js';
import { afterEach, expect, it } from 'vitest';
import { createVirtualClock } from '../../sim/virtual-clock.js';
import { ChargerLine } from '../../src/gateway/ocpp/ocpp-server.js';
import { eventually } from '../eventually.js';
import { CLIENT } from './ocpp-site.js';

const cleanUps: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
});

/** A charger that answers with `answer`, or never if that is undefined, with a record of its calls. */
async function lineTo(answer: (method: string) => object | undefined) {
  const clock = createVirtualClock(0);
  const rpc = new RPCServer({ protocols: CLIENT.protocols, pingIntervalMs: 0 });
  const http = createServer();
  http.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    void rpc.handleUpgrade(request, socket, head);
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const { port } = http.address() as AddressInfo;
  const charger = new RPCClient({ ...CLIENT, endpoint: `ws://127.0.0.1:${port}` });
  const asked: string[] = [];
  charger.handle(({ method = '' }: IHandlersOption) => {
    asked.push(method);
    const said = answer(method);
    return said === undefined ? new Promise(() => {}) : Promise.resolve(said);
  });
  const welcomed = once(rpc, 'client');
  await charger.connect();
  const [client] = (await welcomed) as [serverClient.default];
  cleanUps.push(
    () => charger.close({ force: true }),
    () => new Promise((resolve) => http.close(resolve)),
  );
  return { line: new ChargerLine(client, clock), charger, asked, clock };
}

it('A charger is sent one call at a time', async () => {
  const { line, asked, clock } = await lineTo((method) => (method === 'Never' ? undefined : { method }));
  const never = line.call('Never', {}).catch((error: Error) => error.message);
  const next = line.call('Next', {});
  await eventually(() => expect(asked).toEqual(['Never']));
  clock.advance(14_999);
  expect(asked).toEqual(['Never']);
  clock.advance(1);
  expect(await never).toBe('no answer came');
  expect(await next).toEqual({ method: 'Next' });
  expect(asked).toEqual(['Never', 'Next']);
});

it('A call to a charger times out 15 s after it is sent, regardless of its time in the queue', async () => {
  const { line, asked, clock } = await lineTo(() => undefined);
  const first = line.call('First', {}).catch((error: Error) => error.message);
  const second = line.call('Second', {}).catch((error: Error) => error.message);
  await eventually(() => expect(asked).toEqual(['First']));
  clock.advance(15_000);
  expect(await first).toBe('no answer came');
  await eventually(() => expect(asked).toEqual(['First', 'Second']));
  clock.advance(15_000);
  expect(await second).toBe('no answer came');
});

it('A call to a charger fails at once if the connection ends, and queued calls fail too', async () => {
  const { line, charger, asked } = await lineTo(() => undefined);
  const calls = ['First', 'Second'].map((method) => line.call(method, {}));
  await eventually(() => expect(asked).toEqual(['First']));
  const outcomes = Promise.allSettled(calls);
  await charger.close({ force: true });
  expect((await outcomes).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
});
