// One location that decides for all its connectors at once: time of a decision, and its growth with their number.
import { POLICIES, type Policy } from '../../machines/policy/policies.js';
import { systemClock } from '../../src/clock.js';
import { collectGarbage, machine, median, remark, report } from './bench.js';
import { decideNow, declareAll, FEEDERS, heartbeat, LOW_W_EACH, type Site, siteOf } from './decision-site.js';

const SIZES = [100, 500, 2_000, 5_000];
/** All raises end between two changes of the limit: they take the settling time, and follow the pace of raises. */
const HEARTBEATS_PER_LIMIT = 4;
const TOGETHER = 10_000;
const CHANGES = 30;
const SKIPPED_CHANGES = 2;
const WARM_UP_CHANGES = 5;
const HIGH_W_EACH = 12_000;
const GOAL_MS = 5;
/** Upper bound of the cost of a site with fuses, relative to one without. */
const GOAL_WITH_FUSES = 3;
const FUSED_CONNECTORS = 500;
const DECLARED_CARS = 1_000;
/** Upper bound of the cost of a policy, relative to equal shares. */
const GOAL_WITH_POLICY = 1.5;

interface SiteKind {
  readonly hasFuses?: boolean;
  /** All cars declare a departure and a need. */
  readonly policy?: Policy;
}

interface Change {
  readonly ms: number;
  /** Processor time, collecting garbage included: other work on the machine disturbs it less than elapsed time. */
  readonly cpuMicros: number;
  readonly grants: number;
}

/**
 * Lowers and raises the limit in turn, and measures the decision of each change without the following ones. The number
 * of sites is such that they have `TOGETHER` connectors, and they alternate: small sites must not profit from the
 * processor's caches.
 */
function changesOf(
  connectors: number,
  count: number,
  { hasFuses = false, policy }: SiteKind = {},
): readonly Change[] {
  const sites = Array.from({ length: TOGETHER / connectors }, () => siteOf(connectors, hasFuses, { policy }));
  heartbeatAll(sites);
  if (policy !== undefined) for (const site of sites) declareAll(site);
  const changes: Change[] = [];
  for (let beat = 0; beat < count * HEARTBEATS_PER_LIMIT; beat++) {
    const change = Math.floor(beat / HEARTBEATS_PER_LIMIT);
    heartbeatAll(sites);
    for (const site of sites) {
      const decided = decide(site, change % 2 === 0 ? HIGH_W_EACH : LOW_W_EACH);
      if (beat % HEARTBEATS_PER_LIMIT === 0 && change >= SKIPPED_CHANGES) changes.push(decided);
    }
  }
  return changes;
}

function heartbeatAll(sites: readonly Site[]): void {
  for (const site of sites) heartbeat(site);
}

function decide(site: Site, wattsEach: number): Change {
  const { actor, connectors, nowMs } = site;
  const limitKw = (connectors.length * wattsEach) / 1000;
  actor.send({ type: 'permanentLimit.set', limitKw, now: nowMs });
  const cpuBefore = process.cpuUsage();
  const startedMs = systemClock.monotonicMs();
  const grants = decideNow(site);
  const ms = systemClock.monotonicMs() - startedMs;
  const { user, system } = process.cpuUsage(cpuBefore);
  return { ms, cpuMicros: user + system, grants };
}

function costOf(connectors: number, kind: SiteKind = {}) {
  collectGarbage();
  const changes = changesOf(connectors, CHANGES + SKIPPED_CHANGES, kind);
  return {
    connectors,
    ms: median(changes.map((change) => change.ms)),
    worstMs: Math.max(...changes.map((change) => change.ms)),
    cpuMicrosEach: median(changes.map((change) => change.cpuMicros)) / connectors,
    grants: median(changes.map((change) => change.grants)),
  };
}

for (const size of SIZES) changesOf(size, WARM_UP_CHANGES);
changesOf(FUSED_CONNECTORS, WARM_UP_CHANGES, { hasFuses: true });
for (const policy of Object.values(POLICIES)) changesOf(DECLARED_CARS, WARM_UP_CHANGES, { policy });
const costs = SIZES.map((connectors) => costOf(connectors));

/** In pairs, so that other work on the machine affects both equally. */
function ratioOf(connectors: number, kind: SiteKind): number {
  const ratios = Array.from({ length: 3 }, () => {
    const plain = costOf(connectors).cpuMicrosEach;
    return costOf(connectors, kind).cpuMicrosEach / plain;
  });
  return median(ratios);
}

const fusedRatio = ratioOf(FUSED_CONNECTORS, { hasFuses: true });
const policyRatios = Object.entries(POLICIES).map(
  ([name, policy]) => [name, ratioOf(DECLARED_CARS, { policy })] as const,
);

remark(
  `${machine()}; ${CHANGES} changes of the limit at each site of ${TOGETHER} connectors together, medians`,
);
for (const { connectors, ms, worstMs, cpuMicrosEach, grants } of costs) {
  remark(
    `${connectors} connectors: ${ms.toFixed(2)} ms (worst ${worstMs.toFixed(2)} ms), ` +
      `${cpuMicrosEach.toFixed(2)} µs of processor each, ${grants} grants`,
  );
}
const [smallest, site500] = costs;
const largest = costs.at(-1);
if (smallest === undefined || site500 === undefined || largest === undefined) throw new Error('no costs');
const growth = largest.cpuMicrosEach / smallest.cpuMicrosEach;
const allowedGrowth = Math.log(largest.connectors) / Math.log(smallest.connectors);
report([
  {
    name: `A full reallocation of ${site500.connectors} connectors`,
    measured: `${site500.ms.toFixed(2)} ms`,
    goal: `≤ ${GOAL_MS} ms`,
    met: site500.ms <= GOAL_MS,
  },
  {
    name: `Cost per connector of a reallocation, ${largest.connectors} connectors against ${smallest.connectors}`,
    measured: `${growth.toFixed(2)} ×`,
    goal: `≤ ${allowedGrowth.toFixed(2)} × (n log n)`,
    met: growth <= allowedGrowth,
  },
  {
    name: `Processor time of a reallocation of ${FUSED_CONNECTORS} connectors on ${FEEDERS} feeders, against no fuses`,
    measured: `${fusedRatio.toFixed(2)} ×`,
    goal: `≤ ${GOAL_WITH_FUSES} ×`,
    met: fusedRatio <= GOAL_WITH_FUSES,
  },
  ...policyRatios.map(([name, ratio]) => ({
    name: `Processor time of a reallocation of ${DECLARED_CARS} declared cars by the policy ${name}, against equal shares`,
    measured: `${ratio.toFixed(2)} ×`,
    goal: `≤ ${GOAL_WITH_POLICY} ×`,
    met: ratio <= GOAL_WITH_POLICY,
  })),
]);
