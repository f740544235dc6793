// Start of the real process with 10,000 locations, 20,000 connectors and 100,000 profiles: time until it is ready and
// calm, and its memory then.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../../src/clock.js';
import { databaseUrlOf } from '../../src/config.js';
import { machine, median, remark, report } from './bench.js';
import { residentBytes } from './process-figures.js';
import { createSite, provision, writeProfiles } from './site.js';

const LOCATIONS = 10_000;
const PROFILES_EACH = 10;
const DAY_MS = 86_400_000;
const RUNS = 3;
const BIN = fileURLToPath(new URL('../../../cli/headroom.js', import.meta.url));

/**
 * Half of the profiles lie ahead, a fifth is active, the rest is over. All are listed; each that is not over has an
 * actor.
 */
function windowOf(priority: number, nowMs: number) {
  const startsAtMs = nowMs + (priority - 4) * DAY_MS;
  return { startsAtMs, endsAtMs: startsAtMs + (priority >= 3 ? 2 : 1) * DAY_MS };
}

/** The process is calm once it uses less than a tenth of a core for this time. */
const CALM_MS = 300;
const TICK_US = 10_000;

/** Processor time of a process so far, µs (Linux counts it in ticks of 10 ms). */
function processorUs(pid: number): number {
  const [, rest = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
  const fields = rest.split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_US;
}

async function untilCalm(pid: number): Promise<void> {
  for (let before = processorUs(pid); ; ) {
    await new Promise<void>((resolve) => systemClock.after(CALM_MS, resolve));
    const now = processorUs(pid);
    if (now - before < CALM_MS * 100) return;
    before = now;
  }
}

interface Start {
  readonly readyMs: number;
  readonly calmMs: number;
  readonly bytes: number;
}

async function startOnce(environment: NodeJS.ProcessEnv): Promise<Start> {
  const startedMs = performance.now();
  const child = spawn(process.execPath, [BIN, 'serve'], {
    env: environment,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  await once(createInterface(child.stdout), 'line');
  const readyMs = performance.now() - startedMs;
  await untilCalm(child.pid ?? 0);
  const calmMs = performance.now() - startedMs - CALM_MS;
  const bytes = residentBytes(child.pid ?? 0);
  child.kill('SIGTERM');
  await once(child, 'exit');
  return { readyMs, calmMs, bytes };
}

async function measure(connectorsEach: number) {
  const site = createSite();
  await provision(site.config, LOCATIONS, connectorsEach);
  const nowMs = systemClock.nowMs();
  await writeProfiles(site.config, LOCATIONS, PROFILES_EACH, (priority) => windowOf(priority, nowMs));
  const environment = {
    PATH: '/usr/bin:/bin',
    HEADROOM_HTTP_PORT: '0',
    HEADROOM_MQTT_PORT: '0',
    HEADROOM_DATA_DIR: site.config.dataDir,
    HEADROOM_DATABASE_URL: databaseUrlOf(site.config),
    HEADROOM_LOG_LEVEL: 'warn',
  };
  const runs: Start[] = [];
  for (let run = 0; run < RUNS; run++) runs.push(await startOnce(environment));
  site.remove();
  const middle = (figure: keyof Start) => median(runs.map((run) => run[figure]));
  return { readyMs: middle('readyMs'), calmMs: middle('calmMs'), bytes: middle('bytes') };
}

const base = await measure(2);
const doubled = await measure(4);
const perConnectorKb = (doubled.bytes - base.bytes) / (2 * LOCATIONS) / 1000;
remark(`${machine()}; medians of ${RUNS} starts of the real process on SQLite`);
remark(
  `20,000 connectors: ready after ${(base.readyMs / 1000).toFixed(2)} s, ${(base.bytes / 1e6).toFixed(0)} MB resident`,
);
remark(
  `40,000 connectors: ready after ${(doubled.readyMs / 1000).toFixed(2)} s, ${(doubled.bytes / 1e6).toFixed(0)} MB resident`,
);
report([
  {
    name: 'Start with 10,000 locations, 20,000 connectors, 100,000 profiles',
    measured: `${(base.readyMs / 1000).toFixed(2)} s`,
    goal: '≤ 1.5 s',
    met: base.readyMs <= 1_500,
  },
  {
    name: '… until it is calm',
    measured: `${(base.calmMs / 1000).toFixed(2)} s`,
    goal: '≤ 1.5 s',
    met: base.calmMs <= 1_500,
  },
  {
    name: 'Resident memory after it',
    measured: `${(base.bytes / 1e6).toFixed(0)} MB`,
    goal: '≤ 300 MB',
    met: base.bytes <= 300e6,
  },
  {
    name: 'Resident memory per additional connector',
    measured: `${perConnectorKb.toFixed(1)} kB`,
    goal: '≤ 12 kB',
    met: perConnectorKb <= 12,
  },
]);
