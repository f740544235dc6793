// One location deciding for all its connectors at once: how long it takes, and how that grows with their number.
import { createActor } from 'xstate';
import { connectorMachine } from '../machines/power/connector.machine.js';
import type { ConnectorControl } from '../machines/power/connector-control.js';
import { type Budget, LocationSupervisor } from '../machines/power/location-supervisor.js';
import { createMeterLedger, type MeterLedger } from '../machines/power/meter-ledger.js';
import { systemClock } from '../src/clock.js';
import { collectGarbage, machine, median, remark, report } from './bench.js';

const SIZES = [100, 500, 2_000, 5_000];
const EPOCH = 1;
const HEARTBEAT_MS = 10_000;
const TIMING = { heartbeatMs: HEARTBEAT_MS, ttlMs: 60_000, settleMs: 10_000 };
/** Between two changes of the limit all raises are through: settle, and the pace of raises. */
const HEARTBEATS_PER_LIMIT = 4;
const TOGETHER = 10_000;
const CHANGES = 30;
const SETTLING_CHANGES = 2;
const WARM_UP_CHANGES = 5;
const LOW_W_EACH = 6_500;
const HIGH_W_EACH = 12_000;
const VOLTAGE_V = 230;
const GOAL_MS = 5;

interface Site {
  readonly supervisor: LocationSupervisor;
  readonly meters: MeterLedger;
  readonly controls: readonly ConnectorControl[];
  nowMs: number;
  hb: number;
}

const LOCK = { priority: 0, limitKw: 11, startsAtMs: 0, endsAtMs: Number.MAX_SAFE_INTEGER };
/** Connectors that have no location to report to. */
const aloneMachine = connectorMachine.provide({
  actions: { reportLocked: () => {}, reportUnlocked: () => {} },
});

/** Every third connector has one phase, every twentieth is locked, every sixth has no car. */
function siteOf(connectors: number): Site {
  const supervisor = new LocationSupervisor(TIMING, EPOCH);
  const meters = createMeterLedger(3 * HEARTBEAT_MS);
  const controls = Array.from({ length: connectors }, (_, i) => {
    const key = `charger-${i}/1`;
    const rating = { phases: i % 3 === 0 ? 1 : 3, voltageV: VOLTAGE_V, maxCurrentA: 32 } as const;
    const spec = { ...rating, isActive: true, failsafeA: 6 };
    const stack = i % 20 === 0 ? [LOCK] : [];
    const actor = createActor(aloneMachine, { input: { key, stack, now: 0 } }).start();
    actor.send({ type: 'meter.heard' });
    const control = supervisor.add(key, meters.addConnector(key), actor, spec, 'heartbeat', 0);
    supervisor.describe(control, { failsafeA: 6, lease: 'heartbeat', keepsThen: true });
    return control;
  });
  return { supervisor, meters, controls, nowMs: 0, hb: 0 };
}

/** What the car at connector `i` would take, A per phase: from 10 to 39, so that limits and demands both bind. */
const wantedA = (i: number) => 10 + (i % 30);

/** Every charger reports that it follows what it was told last. */
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
      epoch: EPOCH,
      seq: control.holding.lastSeq,
    } as const;
    site.meters.record(control.slot, reading, site.nowMs);
    site.supervisor.hear(control, reading, site.nowMs);
  }
}

function budgetOf({ controls, nowMs }: Site, wattsEach: number): Budget {
  const budgetW = controls.length * wattsEach;
  return {
    budgetW,
    limitW: budgetW,
    untilMs: nowMs + 3_600_000,
    isClusterBound: false,
    lowestW: controls.length * LOW_W_EACH,
    isLockNear: () => false,
  };
}

interface Change {
  readonly ms: number;
  /** Of the processor, collecting garbage included: neighbours on the machine disturb it less than the clock. */
  readonly cpuMicros: number;
  readonly grants: number;
}

/**
 * Lowers and raises the limit in turn; each change as it was decided, the decisions that follow it left out. As many
 * sites as have `TOGETHER` connectors take turns, so that the processor's caches do not flatter small ones.
 */
function changesOf(connectors: number, count: number): readonly Change[] {
  const sites = Array.from({ length: TOGETHER / connectors }, () => siteOf(connectors));
  const changes: Change[] = [];
  for (let beat = 0; beat < count * HEARTBEATS_PER_LIMIT; beat++) {
    const change = Math.floor(beat / HEARTBEATS_PER_LIMIT);
    for (const site of sites) heartbeat(site);
    for (const site of sites) {
      const decided = decide(site, change % 2 === 0 ? HIGH_W_EACH : LOW_W_EACH);
      if (beat % HEARTBEATS_PER_LIMIT === 0 && change >= SETTLING_CHANGES) changes.push(decided);
    }
  }
  return changes;
}

function decide(site: Site, wattsEach: number): Change {
  const budget = budgetOf(site, wattsEach);
  const cpuBefore = process.cpuUsage();
  const startedMs = systemClock.monotonicMs();
  const { grants } = site.supervisor.decide(budget, site.nowMs);
  const ms = systemClock.monotonicMs() - startedMs;
  const { user, system } = process.cpuUsage(cpuBefore);
  return { ms, cpuMicros: user + system, grants: grants.length };
}

for (const size of SIZES) changesOf(size, WARM_UP_CHANGES);
const costs = SIZES.map((connectors) => {
  collectGarbage();
  const changes = changesOf(connectors, CHANGES + SETTLING_CHANGES);
  return {
    connectors,
    ms: median(changes.map((change) => change.ms)),
    worstMs: Math.max(...changes.map((change) => change.ms)),
    cpuMicrosEach: median(changes.map((change) => change.cpuMicros)) / connectors,
    grants: median(changes.map((change) => change.grants)),
  };
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
]);
