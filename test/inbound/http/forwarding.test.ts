// Forwarding between nodes over a connection that is cut without notice: the request is answered in time, and the next
// one takes a new connection.
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { systemClock } from '../../../src/clock.js';
import { Forwarding } from '../../../src/inbound/http/forwarding.js';
import { NodeTokens } from '../../../src/inbound/http/node-tokens.js';
import { createTokenKeys } from '../../../src/inbound/http/token-keys.js';
import { createMetrics, type Metrics } from '../../../src/metrics.js';
import { Wire } from '../../../tools/bench/cut-wire.js';
import { temporaryDirectory } from '../../cli/headroom.js';
import { eventually } from '../../eventually.js';
import { fetchOnce } from '../../fetch-once.js';
import { createRig } from './http-rig.js';

/** Far longer than a busy machine pauses a process. */
const PATIENCE = { beginMs: 2_500, goOnMs: 2_500 };
/** A client does not read for longer than a silent node is waited for. */
const SLOW_MS = 3_000;
const undo: (() => unknown)[] = [];
/** Requests to the node, and its answer: at once by default. */
let asked: string[];
let answer: (response: ServerResponse) => void;
let wire: Wire;
let metrics: Metrics;
let url: string;

beforeEach(async () => {
  asked = [];
  metrics = createMetrics();
  answer = (response) => response.end('answered');
  const node = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    answer(response);
  });
  await new Promise<void>((resolve) => node.listen(0, '127.0.0.1', resolve));
  undo.push(() => {
    node.closeAllConnections();
    node.close();
  });
  wire = new Wire((node.address() as AddressInfo).port);
  const holder = { nodeId: 'other', url: `http://127.0.0.1:${await wire.open()}` };
  undo.push(() => wire.close());
  url = await startNode(holder);
});
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

/** A standby node. */
async function startNode(holder: { readonly nodeId: string; readonly url: string }): Promise<string> {
  const keys = createTokenKeys({ tokenKeys: undefined, dataDir: temporaryDirectory() });
  const nodeTokens = new NodeTokens({ keys, clock: systemClock });
  const config = { httpBodyLimitBytes: 100_000, tlsCert: undefined };
  const forwarding = new Forwarding({ config, clock: systemClock, metrics, nodeTokens, patience: PATIENCE });
  undo.push(() => forwarding.close());
  const to = { findHolder: async () => holder, isWorthWaiting: () => true };
  const rig = await createRig({
    forwardElsewhere: (exchange) => forwarding.forward(exchange, to),
  });
  undo.push(() => rig.stop());
  return rig.url;
}

async function messageOf(response: Response): Promise<string> {
  const { error } = (await response.json()) as { error: { message: string } };
  return error.message;
}

it('a change that never arrives, or whose answer does not, is 503 and may have been made', async () => {
  expect(await (await fetch(`${url}/before`, { method: 'POST' })).text()).toBe('answered');
  wire.cut();
  const cutOff = await fetch(`${url}/change`, { method: 'POST' });
  expect(cutOff.status).toBe(503);
  expect(cutOff.headers.get('retry-after')).toBe('1');
  expect(await messageOf(cutOff)).toMatch(/check for the change before/);
  wire.mend();
  expect(await (await fetch(`${url}/after`, { method: 'POST' })).text()).toBe('answered');
  expect(asked).toEqual(['POST /before', 'POST /after']);
});

it('a change that a frozen node took, and which nobody follows, is 503 and was asked once', async () => {
  answer = () => {};
  const frozen = await fetch(`${url}/change`, { method: 'POST' });
  expect(frozen.status).toBe(503);
  expect(asked).toEqual(['POST /change']);
});

it('a read is asked again over a new way', async () => {
  await (await fetch(`${url}/before`)).text();
  wire.cut();
  const reading = fetch(`${url}/read`);
  await eventually(async () => {
    const { values } = await metrics.forwardedRequests.get();
    expect(values.filter(({ labels }) => labels.outcome === 'lost')).not.toEqual([]);
  });
  wire.mend();
  expect(await (await reading).text()).toBe('answered');
});

it('a silent stream is ended, so that its client connects again', async () => {
  answer = (response) => response.write('first');
  const stream = await fetch(`${url}/stream`);
  const reader = stream.body?.getReader();
  expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe('first');
  wire.cut();
  await expect(reader?.read()).rejects.toThrow();
  await eventually(() => expect(asked).toEqual(['GET /stream']));
});

it('a large answer of a node that closes its connection arrives whole, also at a slow client', async () => {
  for (const bytes of [64_000, 1_000_000, 20_000_000]) {
    const whole = Buffer.alloc(bytes, 'a');
    answer = (response) => response.writeHead(200, { connection: 'close' }).end(whole);
    const { body } = await fetchOnce(`${url}/large`);
    // Meanwhile the answer fills the buffers on its way, and its node closes the connection.
    await setTimeout(SLOW_MS);
    let received = 0;
    for await (const chunk of body ?? []) received += chunk.length;
    expect(received).toBe(bytes);
  }
});
