// One cluster with thousands of members, a charger each: the cost of its requests and of its heartbeats for each member.
import { parseArgs } from 'node:util';
import { systemClock } from '../../src/clock.js';
import { clusterSchema } from '../../src/features/clusters/contract.js';
import { Service } from '../../src/service.js';
import { type Figure, machine, remark, report } from './bench.js';
import { type FleetClients, startFleetClients } from './enforcement-chargers.js';
import { API_KEY, createSite, locationIdOf, provision, silentLog } from './site.js';

const { values } = parseArgs({
  options: { sizes: { type: 'string', default: '1000,10000' }, seconds: { type: 'string', default: '30' } },
});

const PERMANENT_LIMIT_KW = 22;
/** The cap for each member, kW: above and below the draw of all cars. */
const HIGH_KW_EACH = 20;
const LOW_KW_EACH = 8;
const WANTED_A = 32;
/** The chargers have their limits, and no lease is about to end for the first time. */
const WARM_UP_MS = 40_000;
const DAY_MS = 86_400_000;
const MOST_GROWTH = 1.3;

const wait = (ms: number) => new Promise<void>((resolve) => systemClock.after(ms, resolve));

/** Processor time of this process for each member, µs. */
async function costOf(members: number, work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / members;
}

interface Costs {
  readonly create: number;
  readonly heartbeat: number;
  readonly lower: number;
  readonly raise: number;
  readonly schedule: number;
  readonly read: number;
  /** For the whole cluster, ms. */
  readonly memberWriteMs: number;
}

async function measure(members: number, heldMs: number): Promise<Costs> {
  const site = createSite();
  await provision(site.config, members, 1, {
    chargersEach: 1,
    permanentLimitKw: PERMANENT_LIMIT_KW,
    gridLimitKw: 80,
  });
  const service = new Service(site.config, { log: silentLog });
  const { httpUrl, mqttUrl } = await service.start();
  const call = async (method: string, path: string, body?: object) => {
    const answer = await fetch(`${httpUrl}/v1${path}`, {
      method,
      headers: { 'content-type': 'application/json', 'x-api-key': API_KEY },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text.slice(0, 300)}`);
    return text;
  };
  const locationIds = Array.from({ length: members }, (_, i) => locationIdOf(i));
  let path = '';
  const create = await costOf(members, async () => {
    const created = await call('POST', '/clusters', {
      name: 'All',
      locationIds,
      limitKw: members * HIGH_KW_EACH,
    });
    path = `/clusters/${clusterSchema.parse(JSON.parse(created)).clusterId}`;
  });
  const fleet = await startFleetClients(mqttUrl, { locations: members, chargersEach: 1, steadyA: WANTED_A });
  await wait(WARM_UP_MS);
  const heartbeat = await costOfHeartbeat(fleet, heldMs);
  const lower = await costOf(members, async () => {
    await call('PATCH', path, { limitKw: members * LOW_KW_EACH });
    await wait(heldMs);
  });
  const raise = await costOf(members, async () => {
    await call('PATCH', path, { limitKw: members * HIGH_KW_EACH });
    await wait(heldMs);
  });
  const at = (ms: number) => new Date(systemClock.nowMs() + ms).toISOString();
  const profile = (priority: number) => ({
    limitKw: 21,
    priority,
    startTime: at(DAY_MS),
    endTime: at(2 * DAY_MS),
  });
  const memberWrite = await costOf(1, async () => {
    for (let priority = 1; priority <= 10; priority++)
      await call('POST', `/locations/${locationIdOf(0)}/schedules`, profile(priority));
  });
  const schedule = await costOf(members, () => call('POST', `${path}/schedules`, profile(3)));
  const read = await costOf(members, () => call('GET', path));
  fleet.stop();
  await service.stop();
  site.remove();
  const costs = { create, heartbeat, lower, raise, schedule, read, memberWriteMs: memberWrite / 10_000 };
  remark(
    `${members} members: ${JSON.stringify(costs, (_, value) => (typeof value === 'number' ? Math.round(value * 10) / 10 : value))}`,
  );
  return costs;
}

/** Processor time for a heartbeat and the limit that answers it, µs. */
async function costOfHeartbeat(fleet: FleetClients, ms: number): Promise<number> {
  fleet.begin();
  const cpuUs = await costOf(1, () => wait(ms));
  return cpuUs / (await fleet.report()).heartbeats;
}

remark(machine());
const heldMs = Number(values.seconds) * 1_000;
const sizes = values.sizes.split(',').map(Number);
const all: Costs[] = [];
// The first size is measured twice. Its first round only compiles: a cold thousand would flatter a warm ten thousand.
for (const size of [...sizes.slice(0, 1), ...sizes]) all.push(await measure(size, heldMs));
all.shift();
const [small, large] = [all[0], all.at(-1)];
if (small === undefined || large === undefined) throw new Error('nothing was measured');
const NAMES = {
  create: 'created',
  heartbeat: 'a heartbeat and its limit',
  lower: 'the cap lowered until all chargers follow',
  raise: 'the cap raised until all chargers follow',
  schedule: 'a schedule for all members',
  read: 'read with its live status',
} as const;
const figures: Figure[] = Object.entries(NAMES).map(([key, name]) => {
  const [before, after] = [small[key as keyof typeof NAMES], large[key as keyof typeof NAMES]];
  const growth = after / before;
  return {
    name: `A cluster, cost a member at ${sizes.at(-1)} against ${sizes[0]} members: ${name}`,
    measured: `${growth.toFixed(2)} × (${after.toFixed(1)} µs)`,
    goal: `flat (≤ ${MOST_GROWTH} ×)`,
    met: growth <= MOST_GROWTH,
  };
});
report(figures);
