// Creates the world of a scenario before its first instant: sites, visits and settings of the service.
import { connectorKey } from '../../machines/values/ids.js';
import type { EpochMs } from '../../machines/values/time.js';
import type { Misbehaviour } from '../charger/traits.js';
import { faultPlanOf } from '../scenario/fault-plan.js';
import type { Scenario } from '../scenario/scenario.js';
import { createArrivals } from '../sessions/arrivals.js';
import type { Visit } from '../sessions/visit.js';
import type { TraceEvent } from '../trace/trace-event.js';
import { createWorld, type World } from '../world/world.js';

/** For heartbeats slower than usual, a lease lasts this many heartbeats. */
const HEARTBEATS_PER_LEASE = 6;
const USUAL_HEARTBEAT_MS = 10_000;

export function createScenarioWorld(
  scenario: Scenario,
  visits: readonly Visit[],
  onEvent: (event: TraceEvent) => void,
  settings: Readonly<Record<string, string>> = {},
): Promise<World> {
  const { provision, ocpp, grid, buildings, seed, startsAtMs, meterPeriodMs, transport } = scenario;
  const { keepsThen, endsWithSession, switchesPhases } = scenario;
  const misbehaviours: readonly Misbehaviour[] = keepsThen ? [] : ['forget-then'];
  const members = new Map(ocpp.map((member) => [member.controllerUuid, member]));
  const arrivals = createArrivals(visits, startsAtMs);
  const drift = new Map(
    faultPlanOf(scenario, seed)
      .filter(({ kind }) => kind === 'clockDrift')
      .map(({ charger, share }) => [charger?.controllerUuid, share]),
  );
  return createWorld({
    tenants: provision.tenants,
    grid,
    buildings,
    seed,
    startMs: startsAtMs,
    transport: transport === 'ocpp' ? 'inProcess' : transport,
    onEvent,
    ocppOf: ({ controllerUuid }) => {
      const member = members.get(controllerUuid);
      return member && { ...member, driftShare: drift.get(controllerUuid) ?? 0 };
    },
    visitorsOf:
      ({ controllerUuid }) =>
      (connectorId) =>
        arrivals(connectorKey({ controllerUuid, connectorId })),
    traitsOf: ({ controllerUuid }) => ({
      driftShare: drift.get(controllerUuid) ?? 0,
      meterPeriodMs,
      misbehaviours,
      endsWithSession,
      switchesPhases,
    }),
    environment: { ...timingOf(meterPeriodMs), ...settings },
  });
}

/** The service expects heartbeats at the interval at which chargers send them. */
function timingOf(meterPeriodMs: number): Readonly<Record<string, string>> {
  if (meterPeriodMs <= USUAL_HEARTBEAT_MS) return {};
  return {
    HEADROOM_HEARTBEAT_S: String(meterPeriodMs / 1000),
    HEADROOM_LEASE_TTL_S: String((HEARTBEATS_PER_LEASE * meterPeriodMs) / 1000),
  };
}

/** Start and end of each window in the calls of the scenario. */
export function boundariesOf({ actions }: Scenario): readonly EpochMs[] {
  return actions.flatMap(({ body }) => {
    if (typeof body !== 'object' || body === null) return [];
    return ['startTime', 'endTime'].flatMap((field) => {
      const value: unknown = Reflect.get(body, field);
      const atMs = typeof value === 'string' ? Date.parse(value) : Number.NaN;
      return Number.isNaN(atMs) ? [] : [atMs];
    });
  });
}
