// One location with its machine and supervisor, and without disk or network, for measurements of its decisions.
import { createActor } from 'xstate';
import type { Policy } from '../../machines/policy/policies.js';
import type { Connector } from '../../machines/power/connector.js';
import { Fuses } from '../../machines/power/fuses.js';
import { type LocationActor, locationMachine } from '../../machines/power/location.machine.js';
import { LocationSupervisor } from '../../machines/power/location-supervisor.js';

const OWNER_TERM = 1;
const HEARTBEAT_MS = 10_000;
const TIMING = { heartbeatMs: HEARTBEAT_MS, ttlMs: 60_000, settleMs: 10_000 };
/** Limit for each connector that lets every car charge, W. */
export const LOW_W_EACH = 6_500;
const VOLTAGE_V = 230;
export const FEEDERS = 20;
/**
 * Between the shares under the low and under the high limit: the fuse binds on half of the feeders, the limit on the
 * others.
 */
const FEEDER_A_EACH = [11, 24] as const;
const PHASE_ROTATIONS = ['R', 'S', 'T'] as const;

export interface Site {
  readonly actor: LocationActor;
  readonly supervisor: LocationSupervisor;
  readonly connectors: readonly Connector[];
  nowMs: number;
  hb: number;
}

const MS_PER_H = 3_600_000;
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
export function siteOf(
  size: number,
  hasFuses: boolean,
  { hasLocks = true, policy }: { readonly hasLocks?: boolean; readonly policy?: Policy | undefined } = {},
): Site {
  const supervisor = new LocationSupervisor({ timing: TIMING, ownerTerm: OWNER_TERM });
  const provisioned = Array.from({ length: size }, (_, i) => {
    const rating = { phases: i % 3 === 0 ? 1 : 3, voltageV: VOLTAGE_V, maxCurrentA: 32 } as const;
    return {
      key: `charger-${i}/1`,
      stack: hasLocks && i % 20 === 0 ? [LOCK] : [],
      spec: { ...rating, isActive: true, failsafeA: 6, ...(hasFuses && wiringOf(i)) },
    };
  });
  const permanentLimitKw = (size * LOW_W_EACH) / 1000;
  const limits = { permanentLimitKw, stack: [] };
  const actor = createActor(locationMachine, {
    input: {
      ...limits,
      ...(hasFuses && { fuses: fusesOf(size) }),
      policy,
      connectors: provisioned,
      supervisor,
      now: 0,
      nowMs: 0,
    },
  }).start();
  const connectors = [...supervisor.connectors.values()];
  for (const connector of connectors) {
    actor.send({ type: 'connector.event', key: connector.key, event: { type: 'meter.received' } });
    supervisor.describe(connector, { failsafeA: 6, lease: 'heartbeat', keepsThen: true }, 0);
  }
  return { actor, supervisor, connectors, nowMs: 0, hb: 0 };
}

/** Every car declares a departure within 1 to 10 hours, and a need of 5 to 39 kWh. */
export function declareAll({ supervisor, connectors, nowMs }: Site): void {
  for (const [i, connector] of connectors.entries()) {
    const departsAtMs = nowMs + (1 + (i % 10)) * MS_PER_H;
    supervisor.declareNeed(connector, 'api', { departsAtMs, energyWh: 5_000 + 1_000 * (i % 35) });
  }
}

/**
 * Decides under the present limit. The disk is left out: a grant that needs a reservation leaves at once.
 * @returns the number of grants @throws the error of a decision that failed
 */
export function decideNow({ actor, supervisor, nowMs }: Site): number {
  actor.send({ type: 'decision.due', now: nowMs, nowMs });
  const { decision } = actor.getSnapshot().context;
  if (decision?.outcome !== 'decided') throw decision?.error ?? new Error('nothing was decided');
  for (const decided of decision.grants) if (decided.mustStore) supervisor.noteLeft(decided);
  return decision.grants.length;
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
export function heartbeat(site: Site, hasCarAt = (i: number) => i % 6 !== 5): void {
  site.nowMs += HEARTBEAT_MS;
  site.hb++;
  for (const [i, connector] of site.connectors.entries()) {
    const limitA = (connector.granted.sentTenthsA ?? 60) / 10;
    const hasCar = hasCarAt(i);
    const drawnA = hasCar ? Math.min(limitA, wantedA(i)) : 0;
    const reading = {
      powerW: Math.round(drawnA * VOLTAGE_V * connector.provisioned.spec.phases),
      boot: 'boot',
      hb: site.hb,
      status: hasCar ? 'Charging' : 'Available',
      limitA,
      epoch: OWNER_TERM,
      seq: connector.account.lastSeq,
    } as const;
    site.supervisor.meters.record(connector.telemetry.slot, reading, site.nowMs);
    site.supervisor.receive(connector, reading, { now: site.nowMs, nowMs: site.nowMs });
  }
}
