// Cost of sharing the tenants among several nodes: processor time per connector of three nodes, against one node with
// as many connectors as each of the three.
import { parseArgs } from 'node:util';
import { SHARDS } from '../../machines/values/shards.js';
import { systemClock } from '../../src/clock.js';
import { machine, remark, report } from './bench.js';
import { Cluster } from './cluster-parts.js';

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '60' }, connectors: { type: 'string', default: '1024' } },
});
const seconds = Number(values.seconds);
const eachNode = Number(values.connectors);
const NODES = 3;
const LOCATIONS_OF_A_TENANT = 4;
const GOAL = 1.2;

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => void systemClock.after(ms, resolve));
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await pause(200);
}

/**
 * Each tenant belongs to a shard of its own, so that the nodes have equal numbers of connectors, up to one tenant's.
 */
function planFor(nodes: number) {
  const chargersEach = Math.max(1, Math.round((nodes * eachNode) / (LOCATIONS_OF_A_TENANT * SHARDS)));
  return {
    tenants: SHARDS,
    locationsEach: LOCATIONS_OF_A_TENANT,
    // 12 kW for each car, which would take 22.
    limitKw: 12 * chargersEach,
    chargersEach,
  };
}

/** Of all nodes together since their start, s. */
async function processorS(cluster: Cluster): Promise<number> {
  const texts = await Promise.all(
    cluster.nodes.map(async ({ httpUrl }) => (await fetch(`${httpUrl}/metrics`)).text()),
  );
  return texts.reduce(
    (sum, text) => sum + Number(/^process_cpu_seconds_total (\S+)/m.exec(text)?.[1] ?? Number.NaN),
    0,
  );
}

/** Processor time of a connector, ms a second, in steady state: after the compiler and the rotation have settled. */
async function measured(nodes: number): Promise<number> {
  const cluster = new Cluster({ isSharded: true, plan: planFor(nodes) });
  try {
    await cluster.start(nodes);
    const { sites, fleet } = cluster;
    const connectors = sites.reduce((sum, { controllers }) => sum + controllers.length, 0);
    await until(() => {
      const running = cluster.nodes.filter(({ held }) => held.length > 0);
      return running.length === nodes && running.reduce((sum, { held }) => sum + held.length, 0) === SHARDS;
    });
    await until(() => fleet.summary().leased === connectors);
    await pause(1_000 * seconds);
    const [fromMs, beforeS] = [systemClock.monotonicMs(), await processorS(cluster)];
    await pause(1_000 * seconds);
    const usedS = (await processorS(cluster)) - beforeS;
    const share = (1_000 * usedS) / (systemClock.monotonicMs() - fromMs);
    const each = (1_000 * share) / connectors;
    remark(
      `${nodes === 1 ? '1 node' : `${nodes} nodes`}, ${connectors} connectors: ${(100 * share).toFixed(1)} % of a core, ${(1_000 * each).toFixed(0)} µs a second for each connector`,
    );
    return each;
  } finally {
    await cluster.stop();
  }
}

remark(machine());
const before = await measured(1);
const three = await measured(NODES);
const after = await measured(1);
const ratio = three / ((before + after) / 2);
report([
  {
    name: 'processor time for each connector: three nodes that share the tenants, beside one with a third of the connectors',
    measured: `${ratio.toFixed(2)} ×`,
    goal: `at most ${GOAL} ×`,
    met: ratio <= GOAL,
  },
]);
process.exit(0);
