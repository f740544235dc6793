// Screenshots of the dashboard for the documents: the demo with some hours of past and a few limits, in Chromium.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type BrowserContextOptions, chromium } from 'playwright-core';
import { systemClock } from '../../src/clock.js';
import type { ClusterList } from '../../src/features/clusters/contract.js';
import { toInstant } from '../../src/wire/instants.js';
import { writePast } from './past-of-demo.js';

const CHROMIUM = '/usr/bin/chromium';
const BIN = fileURLToPath(new URL('../../../cli/headroom.js', import.meta.url));
const DEMO_FILE = fileURLToPath(new URL('../../../cli/demo/harbour.yaml', import.meta.url));
const IMAGES = fileURLToPath(new URL('../../../docs/images/', import.meta.url));
const TIMING = ['--heartbeat-s', '2', '--lease-ttl-s', '12', '--settle-s', '3'];
const HOUR_MS = 3_600_000;
/** Time until cars have come and leases are renewed. */
const STEADY_WITHIN_MS = 30_000;
const DRAWN_WITHIN_MS = 3_000;

const SITES = [
  { locationId: 'quay-1', limitKw: 50 },
  { locationId: 'warehouse-7', limitKw: 20 },
  { locationId: 'ferry-terminal', limitKw: 40 },
];

const WIDE: BrowserContextOptions = { viewport: { width: 1280, height: 720 } };
const SHORT: BrowserContextOptions = { viewport: { width: 1280, height: 640 } };
const TALL: BrowserContextOptions = { viewport: { width: 1280, height: 1600 } };
const PHONE: BrowserContextOptions = { viewport: { width: 390, height: 780 }, deviceScaleFactor: 2 };

/** Name of the file, page, and kind of screen. */
type Picture = readonly [name: string, hash: string, options: BrowserContextOptions];

const picturesOf = (clusterId: string): readonly Picture[] => [
  ['locations', '/locations', WIDE],
  ['location-light', '/locations/quay-1', TALL],
  ['location-dark', '/locations/quay-1', { ...TALL, colorScheme: 'dark' }],
  ['phone', '/locations/quay-1', PHONE],
  ['cluster', `/clusters/${clusterId}`, SHORT],
  ['alarms', '/alarms', SHORT],
];

function run(args: readonly string[]): Promise<number | null> {
  const child = spawn(process.execPath, [BIN, ...args], { stdio: ['ignore', 'ignore', 'inherit'] });
  return new Promise((resolve) => child.once('exit', resolve));
}

/** Starts the demo on `dataDir`; resolves with the values in its output. */
async function startDemo(dataDir: string) {
  const child = spawn(
    process.execPath,
    [BIN, 'demo', '--http-port', '0', '--mqtt-port', '0', '--data-dir', dataDir, ...TIMING],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const stop = async () => {
    child.kill('SIGTERM');
    await once(child, 'exit');
  };
  let said = '';
  for await (const piece of child.stdout) {
    said += String(piece);
    const [, url] = /Dashboard +(\S+)\//.exec(said) ?? [];
    const [, apiKey] = /API key +(\S+)/.exec(said) ?? [];
    if (url !== undefined && apiKey !== undefined) return { url, apiKey, stop };
  }
  throw new Error(`the demo did not start: ${said}`);
}

/** Present and future limits of several priorities, a lock, and a limit that cannot be kept next to a lock. */
async function setLimits(url: string, apiKey: string): Promise<void> {
  const nowMs = systemClock.nowMs();
  const post = async (path: string, priority: number, limitKw: number, fromH: number, toH: number) => {
    const body = {
      priority,
      limitKw,
      startTime: toInstant(nowMs + fromH * HOUR_MS),
      endTime: toInstant(nowMs + toH * HOUR_MS),
    };
    const response = await fetch(`${url}/v1${path}/schedules`, {
      method: 'POST',
      headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
  };
  await post('/locations/quay-1', 2, 42, -0.5, 6);
  await post('/locations/quay-1', 5, 22, 0.25, 1);
  await post('/locations/quay-1', 8, 35, 2, 3.5);
  await post('/locations/warehouse-7', 3, 12, -0.25, 2);
  await post('/chargers/q1-c/connectors/1', 1, 8, -0.1, 2);
  await post('/chargers/w7-a/connectors/1', 1, 8, -0.1, 2);
  await post('/locations/warehouse-7', 7, 3, 0, 0.5);
}

async function clusterOf(url: string, apiKey: string): Promise<string> {
  const response = await fetch(`${url}/v1/clusters`, { headers: { 'x-api-key': apiKey } });
  const { clusters } = (await response.json()) as ClusterList;
  return clusters[0]?.clusterId ?? '';
}

async function takePictures(url: string, apiKey: string): Promise<void> {
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
  const credential = JSON.stringify({ kind: 'apiKey', apiKey });
  try {
    for (const [name, hash, options] of picturesOf(await clusterOf(url, apiKey))) {
      const context = await browser.newContext({ locale: 'en-GB', timezoneId: 'Europe/Berlin', ...options });
      await context.addInitScript(`sessionStorage['headroom.credential'] = ${JSON.stringify(credential)}`);
      const page = await context.newPage();
      await page.goto(`${url}/#${hash}`);
      await page.getByText('Live', { exact: true }).waitFor();
      if (hash.startsWith('/locations/')) await page.getByRole('button', { name: '6 h' }).click();
      await page.waitForTimeout(DRAWN_WITHIN_MS);
      // The click may have scrolled to its button.
      await page.evaluate('window.scrollTo(0, 0)');
      await page.screenshot({ path: `${IMAGES}${name}.png` });
      await context.close();
      process.stdout.write(`docs/images/${name}.png\n`);
    }
  } finally {
    await browser.close();
  }
}

const dataDir = mkdtempSync(join(tmpdir(), 'headroom-pictures-'));
await run(['provision', DEMO_FILE, '--data-dir', dataDir]);
await writePast(`sqlite:${join(dataDir, 'headroom.sqlite')}`, SITES);
const demo = await startDemo(dataDir);
try {
  await setLimits(demo.url, demo.apiKey);
  await new Promise<void>((resolve) => void systemClock.after(STEADY_WITHIN_MS, resolve));
  mkdirSync(IMAGES, { recursive: true });
  await takePictures(demo.url, demo.apiKey);
} finally {
  await demo.stop();
  rmSync(dataDir, { recursive: true, force: true });
}
