// One location that decides for all its connectors at once: time of a decision, and its growth with their number.
import { createActor } from 'xstate';
import type { ConnectorControl } from '../../machines/power/connector-control.js';
import { Fuses } from '../../machines/power/fuses.js';
import { type LocationActor, locationMachine } from '../../machines/power/location.machine.js';
import { LocationSupervisor } from '../../machines/power/location-supervisor.js';
import { systemClock } from '../../src/clock.js';
import { collectGarbage, machine, median, remark, report } from './bench.js';

const SIZES = [100, 500, 2_000, 5_000];
const OWNER_TERM = 1;
const HEARTBEAT_MS = 10_000;
const TIMING = { heartbeatMs: HEARTBEAT_MS, ttlMs: 60_000, settleMs: 10_000 };
/** All raises end between two changes of the limit: they take the settling time, and follow the pace of raises. */
const HEARTBEATS_PER_LIMIT = 4;
const TOGETHER = 10_000;
const CHANGES = 30;
const SKIPPED_CHANGES = 2;
const WARM_UP_CHANGES = 5;
const LOW_W_EACH = 6_500;
const HIGH_W_EACH = 12_000;
const VOLTAGE_V = 230;
const GOAL_MS = 5;
/** Upper bound of the cost of a site with fuses, relative to one without. */
const GOAL_WITH_FUSES = 3;
const FUSED_CONNECTORS = 500;
const FEEDERS = 20;
/**
 * Between the shares under the low and under the high limit: the fuse binds on half of the feeders, the limit on the
 * others.
 */
const FEEDER_A_EACH = [11, 24] as const;
const PHASE_ROTATIONS = ['R', 'S', 'T'] as const;

interface Site {
  readonly actor: LocationActor;
  readonly supervisor: LocationSupervisor;
  readonly controls: readonly Readonly<ConnectorControl>[];
  nowMs: number;
  hb: number;
}

const LOCK = { priority: 0, limitKw: 11, startsAtMs: 0, endsAtMs: Number.MAX_SAFE_INTEGER };

/** Several feeders below one connection, with the connectors spread over them. */
function fusesOf(size: number): Fuses {
  const currentA = (connectors: number, eachA: number) => {
    const phaseA = connectors * eachA;
    return [phaseA, phaseA, phaseA] as const;
  };
  return new Fuses(
    { currentA: currentA(size, 20), voltageV: VOLTAGE_V },
    Array.from({ length: FEEDERS }, (_, i) => ({
      name: `feeder-${i}`,
      currentA: currentA(size / FEEDERS, FEEDER_A_EACH[i % 2] ?? 0),
      parent: null,
    })),
  );
}

/** Every third connector has one phase, every twentieth is locked, every sixth has no car. */
function siteOf(size: number, hasFuses: boolean): Site {
  const supervisor = new LocationSupervisor({ timing: TIMING, ownerTerm: OWNER_TERM });
  const connectors = Array.from({ length: size }, (_, i) => {
    const rating = { phases: i % 3 === 0 ? 1 : 3, voltageV: VOLTAGE_V, maxCurrentA: 32 } as const;
    return {
      key: `charger-${i}/1`,
      stack: i % 20 === 0 ? [LOCK] : [],
      spec: { ...rating, isActive: true, failsafeA: 6, ...(hasFuses && wiringOf(i)) },
    };
  });
  const permanentLimitKw = (size * LOW_W_EACH) / 1000;
  const limits = { permanentLimitKw, stack: [] };
  const actor = createActor(locationMachine, {
    input: {
      ...limits,
      ...(hasFuses && { fuses: fusesOf(size) }),
      connectors,
      supervisor,
      now: 0,
      nowMs: 0,
    },
  }).start();
  const controls = [...supervisor.controls.values()];
  for (const control of controls) {
    actor.send({ type: 'connector.event', key: control.key, event: { type: 'meter.received' } });
    supervisor.describe(control, { failsafeA: 6, lease: 'heartbeat', keepsThen: true }, 0);
  }
  return { actor, supervisor, controls, nowMs: 0, hb: 0 };
}

function wiringOf(i: number) {
  const rotation = i % 3 === 0 ? PHASE_ROTATIONS[(i / 3) % 3] : undefined;
  return { feeder: `feeder-${i % FEEDERS}`, ...(rotation !== undefined && { rotation }) };
}

/**
 * The current that the car at connector `i` would take, A per phase: from 10 to 39, so that limits and demands both
 * bind.
 */
const wantedA = (i: number) => 10 + (i % 30);

/** Every charger reports that it follows its newest limit. */
function heartbeat(site: Site): void {
  site.nowMs += HEARTBEAT_MS;
  site.hb++;
  for (const [i, control] of site.controls.entries()) {
    const limitA = (control.sentTenthsA ?? 60) / 10;
    const hasCar = i % 6 !== 5;
    const drawnA = hasCar ? Math.min(limitA, wantedA(i)) : 0;
    const reading = {
      powerW: Math.round(drawnA * VOLTAGE_V * control.spec.phases),
      boot: 'boot',
      hb: site.hb,
      status: hasCar ? 'Charging' : 'Available',
      limitA,
      epoch: OWNER_TERM,
      seq: control.account.lastSeq,
    } as const;
    site.supervisor.meters.record(control.slot, reading, site.nowMs);
    site.supervisor.receive(control, reading, site.nowMs);
  }
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
function changesOf(connectors: number, count: number, hasFuses = false): readonly Change[] {
  const sites = Array.from({ length: TOGETHER / connectors }, () => siteOf(connectors, hasFuses));
  const changes: Change[] = [];
  for (let beat = 0; beat < count * HEARTBEATS_PER_LIMIT; beat++) {
    const change = Math.floor(beat / HEARTBEATS_PER_LIMIT);
    for (const site of sites) heartbeat(site);
    for (const site of sites) {
      const decided = decide(site, change % 2 === 0 ? HIGH_W_EACH : LOW_W_EACH);
      if (beat % HEARTBEATS_PER_LIMIT === 0 && change >= SKIPPED_CHANGES) changes.push(decided);
    }
  }
  return changes;
}

function decide(site: Site, wattsEach: number): Change {
  const { actor, supervisor, controls, nowMs } = site;
  const limitKw = (controls.length * wattsEach) / 1000;
  actor.send({ type: 'permanentLimit.set', limitKw, now: nowMs });
  const cpuBefore = process.cpuUsage();
  const startedMs = systemClock.monotonicMs();
  actor.send({ type: 'decision.due', now: nowMs, nowMs });
  const { decision } = actor.getSnapshot().context;
  if (decision?.outcome !== 'decided') throw decision?.error ?? new Error('nothing was decided');
  const { grants } = decision;
  // The disk is left out: a grant that needs a reservation leaves at once.
  for (const decided of grants) if (decided.mustStore) supervisor.noteLeft(decided);
  const ms = systemClock.monotonicMs() - startedMs;
  const { user, system } = process.cpuUsage(cpuBefore);
  return { ms, cpuMicros: user + system, grants: grants.length };
}

function costOf(connectors: number, hasFuses: boolean) {
  collectGarbage();
  const changes = changesOf(connectors, CHANGES + SKIPPED_CHANGES, hasFuses);
  return {
    connectors,
    ms: median(changes.map((change) => change.ms)),
    worstMs: Math.max(...changes.map((change) => change.ms)),
    cpuMicrosEach: median(changes.map((change) => change.cpuMicros)) / connectors,
    grants: median(changes.map((change) => change.grants)),
  };
}

for (const size of SIZES) changesOf(size, WARM_UP_CHANGES);
changesOf(FUSED_CONNECTORS, WARM_UP_CHANGES, true);
const costs = SIZES.map((connectors) => costOf(connectors, false));
// In pairs, so that other work on the machine affects both equally.
const ratios = Array.from({ length: 3 }, () => {
  const plain = costOf(FUSED_CONNECTORS, false).cpuMicrosEach;
  return costOf(FUSED_CONNECTORS, true).cpuMicrosEach / plain;
});

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
    measured: `${median(ratios).toFixed(2)} ×`,
    goal: `≤ ${GOAL_WITH_FUSES} ×`,
    met: median(ratios) <= GOAL_WITH_FUSES,
  },
]);
