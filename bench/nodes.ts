// What it costs that several nodes share the tenants: processor time of three nodes beside that of one, for the same chargers.
import { parseArgs } from 'node:util';
import { SHARDS } from '../machines/values/shards.js';
import { systemClock } from '../src/clock.js';
import { machine, remark, report } from './bench.js';
import { Cluster } from './cluster-parts.js';

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '60' }, chargers: { type: 'string', default: '1024' } },
});
const seconds = Number(values.seconds);
/** Each tenant is of a shard of its own, so that three nodes have a third of the chargers each, give or take one tenant's. */
const PLAN = {
  tenants: SHARDS,
  locationsEach: 4,
  limitKw: 200,
  chargersEach: Math.max(1, Math.round(Number(values.chargers) / (4 * SHARDS))),
};
const GOAL = 1.2;

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => void systemClock.after(ms, resolve));
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await pause(200);
}

/** Of all nodes together since they were started, s. */
async function processorS(cluster: Cluster): Promise<number> {
  const running = cluster.nodes.filter(({ role }) => role !== 'stopped');
  const texts = await Promise.all(
    running.map(async ({ httpUrl }) => (await fetch(`${httpUrl}/metrics`)).text()),
  );
  return texts.reduce(
    (sum, text) => sum + Number(/^process_cpu_seconds_total (\S+)/m.exec(text)?.[1] ?? Number.NaN),
    0,
  );
}

/** Once all is as it will be: the compiler has seen the code, and turns have settled. */
async function measured(cluster: Cluster, count: number): Promise<number> {
  const { sites, fleet } = cluster;
  await until(() => {
    const running = cluster.nodes.filter(({ held }) => held.length > 0);
    const owned = running.reduce((sum, { held }) => sum + held.length, 0);
    return running.length === count && owned === SHARDS;
  });
  const connectors = sites.reduce((sum, { controllers }) => sum + controllers.length, 0);
  await until(() => fleet.summary().leased === connectors);
  await pause(1_000 * seconds);
  const [fromMs, beforeS] = [systemClock.monotonicMs(), await processorS(cluster)];
  await pause(1_000 * seconds);
  const usedS = (await processorS(cluster)) - beforeS;
  const share = (1_000 * usedS) / (systemClock.monotonicMs() - fromMs);
  remark(`${count} nodes, ${connectors} connectors: ${(100 * share).toFixed(1)} % of a core`);
  return share;
}

const cluster = new Cluster({ isSharded: true, plan: PLAN });
try {
  remark(machine());
  await cluster.start(1);
  const before = await measured(cluster, 1);
  const others = [await cluster.startNode('node-2'), await cluster.startNode('node-3')];
  const three = await measured(cluster, 3);
  for (const node of others) await cluster.end(node, 'SIGTERM');
  const after = await measured(cluster, 1);
  const ratio = three / ((before + after) / 2);
  report([
    {
      name: 'processor time of three nodes that share the tenants, beside one',
      measured: `${ratio.toFixed(2)} ×`,
      goal: `at most ${GOAL} ×`,
      met: ratio <= GOAL,
    },
  ]);
} finally {
  await cluster.stop();
}
process.exit(0);
