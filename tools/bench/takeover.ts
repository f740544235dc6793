// Time without a running node after the lease of a killed node has ended: until the next node answers and chargers
// reach it.
import { parseArgs } from 'node:util';
import { systemClock } from '../../src/clock.js';
import { machine, median, remark, report } from './bench.js';
import { Cluster, type Node } from './cluster-parts.js';

const { values } = parseArgs({
  options: { times: { type: 'string', default: '5' }, connectors: { type: 'string', default: '1000' } },
});
const LOCATIONS = 20;
const GOAL_S = 2;

async function until<T>(look: () => T | undefined): Promise<T> {
  for (;;) {
    const found = look();
    if (found !== undefined) return found;
    await new Promise<void>((resolve) => void systemClock.after(5, resolve));
  }
}

function running({ nodes }: Cluster): Node | undefined {
  return nodes.find(({ role }) => role === 'active');
}

/** From the end of the lease, by the database's clock, which is this machine's, s. */
async function takeoverS(cluster: Cluster): Promise<number> {
  const before = await until(() => running(cluster));
  await cluster.end(before, 'SIGKILL');
  const [row] =
    (await cluster.ask<{ ended_at_ms: string }>('select alive_until_ms as ended_at_ms from owner')) ?? [];
  await until(() => running(cluster));
  const tookMs = systemClock.nowMs() - Number(row?.ended_at_ms);
  await cluster.startNode(before.name);
  remark(`${(tookMs / 1000).toFixed(2)} s after the end of the lease`);
  return tookMs / 1000;
}

const chargersEach = Math.round(Number(values.connectors) / LOCATIONS);
const cluster = new Cluster({
  plan: { tenants: 1, locationsEach: LOCATIONS, limitKw: 12 * chargersEach, chargersEach },
});
try {
  remark(machine());
  await cluster.start(2);
  await until(() => (cluster.fleet.summary().leased === LOCATIONS * chargersEach ? true : undefined));
  const tookS: number[] = [];
  while (tookS.length < Number(values.times)) tookS.push(await takeoverS(cluster));
  const [middleS, longestS] = [median(tookS), Math.max(...tookS)];
  report([
    {
      name: `from the end of a killed node's lease until the next one runs, ${LOCATIONS * chargersEach} connectors`,
      measured: `${middleS.toFixed(2)} s, at the longest ${longestS.toFixed(2)} s`,
      goal: `at most ${GOAL_S} s`,
      met: longestS <= GOAL_S,
    },
  ]);
} finally {
  await cluster.stop();
}
process.exit(0);
