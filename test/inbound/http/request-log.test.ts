// Each request has a log line, and lines of unauthenticated requests are bounded.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createVirtualClock } from '../../../sim/virtual-clock.js';
import { RequestLog } from '../../../src/inbound/http/exchange.js';
import { eventually } from '../../eventually.js';
import { TENANT } from './fake-application.js';
import { createRig, type Rig } from './http-rig.js';
import { rawClient } from './raw-client.js';

const NO_LOG = { debug() {}, info() {}, warn() {}, error() {} };
let rig: Rig;

function linesOf(): readonly Record<string, unknown>[] {
  return rig.logLines.map((line): Record<string, unknown> => JSON.parse(line));
}

it('has a thousand lines at once of callers without a credential, and then the number of omitted ones', () => {
  const clock = createVirtualClock(0);
  const lines: object[] = [];
  const log = new RequestLog(clock, { ...NO_LOG, info: (fields) => void lines.push(fields) });
  for (let i = 0; i < 1_020; i++) log.add(undefined, { path: '/health' }, 'request');
  expect(lines).toHaveLength(1_000);
  log.add(TENANT, { path: '/v1/locations' }, 'request');
  expect(lines.at(-1)).toEqual({ tenantUuid: TENANT, path: '/v1/locations' });
  clock.advance(1_000);
  for (let i = 0; i < 20; i++) log.add(undefined, { path: '/docs' }, 'request');
  expect(lines.slice(1_001)).toEqual([
    { path: '/docs', othersNotLogged: 20 },
    ...Array.from({ length: 9 }, () => ({ path: '/docs' })),
  ]);
});

it('logs a large answer that its client did not take as 499, and one that it took as 200', async () => {
  onTestFinished(() => rig.stop());
  const pageDirectory = `${mkdtempSync(join(tmpdir(), 'headroom-page-'))}/`;
  onTestFinished(() => rmSync(pageDirectory, { recursive: true }));
  mkdirSync(`${pageDirectory}assets`);
  writeFileSync(`${pageDirectory}index.html`, '');
  // More than sockets hold for a client that does not read.
  writeFileSync(`${pageDirectory}assets/large.js`, Buffer.alloc(30_000_000, ' '));
  rig = await createRig({ pageDirectory });
  const path = '/assets/large.js';
  const leaving = await rawClient(rig.url, { isReading: false });
  leaving.send(`GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`);
  await new Promise((resolve) => leaving.socket.once('readable', resolve));
  leaving.socket.destroy();
  await eventually(() => expect(linesOf().map(({ status }) => status)).toEqual([499]));
  expect(await (await rig.call('GET', path)).text()).toHaveLength(30_000_000);
  await eventually(() => expect(linesOf().map(({ status }) => status)).toEqual([499, 200]));
});
