// Start of the real process with 10,000 locations, 20,000 connectors and 100,000 profiles: time to ready, memory after
// it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
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

async function startOnce(environment: NodeJS.ProcessEnv): Promise<{ readyMs: number; bytes: number }> {
  const startedMs = performance.now();
  const child = spawn(process.execPath, [BIN, 'serve'], {
    env: environment,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  await once(createInterface(child.stdout), 'line');
  const readyMs = performance.now() - startedMs;
  const bytes = residentBytes(child.pid ?? 0);
  child.kill('SIGTERM');
  await once(child, 'exit');
  return { readyMs, bytes };
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
  const runs = [];
  for (let run = 0; run < RUNS; run++) runs.push(await startOnce(environment));
  site.remove();
  return { readyMs: median(runs.map((run) => run.readyMs)), bytes: median(runs.map((run) => run.bytes)) };
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
    goal: '≤ 5 s',
    met: base.readyMs <= 5_000,
  },
  {
    name: 'Resident memory after it',
    measured: `${(base.bytes / 1e6).toFixed(0)} MB`,
    goal: '≤ 600 MB',
    met: base.bytes <= 600e6,
  },
  {
    name: 'Resident memory per additional connector',
    measured: `${perConnectorKb.toFixed(1)} kB`,
    goal: '≤ 12 kB',
    met: perConnectorKb <= 12,
  },
]);
