import type { EpochMs } from '../../machines/values/time.js';
import { createDraw } from '../scenario/draw.js';
import type { Scenario, ScenarioConnector, VehicleClass } from '../scenario/scenario.js';
import { drawVisits } from './drawn-visits.js';
import { placeRecorded } from './recorded-visits.js';
import { carOf, type Visit } from './visit.js';

/** A visit before the draw of its car. */
interface PlannedVisit {
  readonly connector: ScenarioConnector;
  readonly sessionId: string;
  readonly arrivesAtMs: EpochMs;
  readonly leavesAtMs: EpochMs;
  readonly requestedWh: number;
  readonly maxKw?: number | undefined;
  readonly vehicle?: string | undefined;
}

function plannedVisits(scenario: Scenario, seed: number): readonly PlannedVisit[] {
  const { sessions, connectors } = scenario;
  if (sessions.kind === 'csv') {
    return placeRecorded(sessions, scenario).map(({ energyWh, ...session }) => ({
      ...session,
      requestedWh: energyWh,
    }));
  }
  if (sessions.kind === 'generate') {
    return drawVisits(sessions, scenario, seed).map((visit) => ({
      ...visit,
      sessionId: `${visit.connector.key}@${visit.arrivesAtMs}`,
    }));
  }
  const byKey = new Map(connectors.map((connector) => [connector.key, connector]));
  return sessions.visits.flatMap(({ connectorKey, ...visit }) => {
    const connector = byKey.get(connectorKey);
    return connector === undefined
      ? []
      : [{ ...visit, connector, sessionId: `${connectorKey}@${visit.arrivesAtMs}` }];
  });
}

function vehicleOf(
  name: string | undefined,
  vehicles: readonly VehicleClass[],
  drawn: VehicleClass | undefined,
) {
  return vehicles.find((vehicle) => vehicle.name === name) ?? drawn;
}

function visitOf(planned: PlannedVisit, { vehicles }: Scenario, seed: number): readonly Visit[] {
  const { connector, sessionId, arrivesAtMs, leavesAtMs, requestedWh, maxKw } = planned;
  const draw = createDraw(seed, 'car', sessionId);
  const drawn = draw.weighted(vehicles, ({ share }) => share);
  const vehicle = vehicleOf(planned.vehicle, vehicles, drawn);
  if (vehicle === undefined) return [];
  const car = carOf(vehicle, connector, { requestedWh, maxKw, draw });
  return [
    {
      connectorKey: connector.key,
      sessionId,
      arrivesAtMs,
      leavesAtMs,
      requestedWh,
      vehicle: vehicle.name,
      car,
    },
  ];
}

/**
 * The visits that begin during `scenario`, in order of time; equal seeds give equal visits.
 * @throws UnusableFileError if they come from a file that cannot be used.
 */
export function sessionsOf(scenario: Scenario, seed: number): readonly Visit[] {
  const visits = plannedVisits(scenario, seed).flatMap((planned) => visitOf(planned, scenario, seed));
  return visits.sort((a, b) => a.arrivesAtMs - b.arrivesAtMs || (a.connectorKey < b.connectorKey ? -1 : 1));
}
