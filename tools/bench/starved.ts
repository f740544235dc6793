// A service that gets 40 % of one core, with 5,000 connectors under limits that bind: from heartbeat to limit.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { systemClock } from '../../src/clock.js';
import { databaseUrlOf } from '../../src/config.js';
import { machine, percent, remark, report } from './bench.js';
import { startFleetClients } from './enforcement-chargers.js';
import { API_KEY, createSite, locationIdOf, provision } from './site.js';

const { values } = parseArgs({
  options: {
    connectors: { type: 'string', default: '5000' },
    seconds: { type: 'string', default: '120' },
    share: { type: 'string', default: '0.4' },
  },
});
const CHARGERS_EACH = 50;
const PLAN = { locations: Math.ceil(Number(values.connectors) / CHARGERS_EACH), chargersEach: CHARGERS_EACH };
const CONNECTORS = PLAN.locations * PLAN.chargersEach;
const SHARE = Number(values.share);
/** Fewer amperes than the cars want. */
const SHAPE = { chargersEach: CHARGERS_EACH, permanentLimitKw: 320, gridLimitKw: 1_200 };
const WARM_UP_MS = 90_000;
/** The usual period of a container's quota: the process runs for its share of each, and stands still for the rest. */
const PERIOD_MS = 100;
const READ_EVERY_MS = 200;
const GOAL_MS = 2_000;
const BIN = fileURLToPath(new URL('../../../cli/headroom.js', import.meta.url));

function passes(ms: number): Promise<void> {
  return new Promise((resolve) => systemClock.after(ms, resolve));
}

const site = createSite();
await provision(site.config, PLAN.locations, 1, SHAPE);
const child = spawn(process.execPath, [BIN, 'serve'], {
  env: {
    PATH: '/usr/bin:/bin',
    HEADROOM_HTTP_PORT: '0',
    HEADROOM_MQTT_PORT: '0',
    HEADROOM_DATA_DIR: site.config.dataDir,
    HEADROOM_DATABASE_URL: databaseUrlOf(site.config),
    HEADROOM_LOG_LEVEL: 'error',
  },
  stdio: ['ignore', 'pipe', 'ignore'],
});
const [ready] = (await once(createInterface(child.stdout), 'line')) as [string];
const { httpUrl, mqttUrl } = JSON.parse(ready) as { httpUrl: string; mqttUrl: string };
const chargers = await startFleetClients(mqttUrl, PLAN);
await passes(WARM_UP_MS);

let isStarved = true;
async function starve(): Promise<void> {
  for (;;) {
    if (!isStarved) return;
    child.kill('SIGSTOP');
    await passes(PERIOD_MS * (1 - SHARE));
    child.kill('SIGCONT');
    await passes(PERIOD_MS * SHARE);
  }
}

const answers = { read: 0, shed: 0, failed: 0 };
async function read(): Promise<void> {
  const url = `${httpUrl}/v1/locations/${locationIdOf(0)}/live`;
  while (isStarved) {
    const asked = fetch(url, { headers: { 'x-api-key': API_KEY }, signal: AbortSignal.timeout(10_000) });
    void asked.then(
      ({ status }) => {
        if (status === 200) answers.read++;
        else if (status === 503) answers.shed++;
        else answers.failed++;
      },
      () => answers.failed++,
    );
    await passes(READ_EVERY_MS);
  }
}

chargers.begin();
const starving = starve();
const reading = read();
await passes(1_000 * Number(values.seconds));
const fleet = await chargers.report();
isStarved = false;
await Promise.all([starving, reading]);
chargers.stop();
child.kill('SIGTERM');
await once(child, 'exit');
site.remove();

remark(
  `${machine()}; ${CONNECTORS} connectors at ${PLAN.locations} locations, ${values.seconds} s with ${percent(SHARE)} of a core; ` +
    `${fleet.heartbeats} meter values, ${fleet.limits} limits, ${fleet.broken} broken`,
);
remark(
  `heartbeat to limit, ${fleet.answers} of them: p50 ${fleet.p50Ms.toFixed(0)} ms, p99 ${fleet.p99Ms.toFixed(0)} ms, worst ` +
    `${fleet.maxMs.toFixed(0)} ms; reads: ${answers.read} answered, ${answers.shed} refused, ${answers.failed} failed`,
);
report([
  {
    name: `Renewals and decreases, ${CONNECTORS} connectors on ${percent(SHARE)} of a core, p99`,
    measured: `${(fleet.p99Ms / 1000).toFixed(1)} s`,
    goal: `≤ ${GOAL_MS / 1000} s`,
    met: fleet.broken === 0 && fleet.p99Ms <= GOAL_MS,
  },
]);
