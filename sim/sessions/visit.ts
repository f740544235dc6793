// A visit of a car to a connector. The car depends on its class and on the connector.
import type { EpochMs } from '../../machines/values/time.js';
import { type NextCar, NO_CAR, onVisit, type VisitingCar } from '../charger/car.js';
import { ampereOfDcW } from '../charger/direct-current.js';
import type { Draw } from '../scenario/draw.js';
import type { ScenarioConnector, VehicleClass } from '../scenario/scenario.js';

/** Visits of one connector do not overlap; one may begin at the instant at which the previous one ends. */
export interface Visit {
  readonly connectorKey: string;
  /** Unique in the scenario. */
  readonly sessionId: string;
  readonly arrivesAtMs: EpochMs;
  readonly leavesAtMs: EpochMs;
  readonly requestedWh: number;
  /** Class of the car. */
  readonly vehicle: string;
  /** The car is full after `requestedWh`. */
  readonly car: VisitingCar;
}

/**
 * A car of `vehicle` at `connector`.
 * @param maxKw highest recorded power at such a connector; if absent, the maximum of the class applies.
 */
export function carOf(
  vehicle: VehicleClass,
  connector: ScenarioConnector,
  {
    requestedWh,
    maxKw,
    draw,
  }: { readonly requestedWh: number; readonly maxKw?: number | undefined; readonly draw: Draw },
): VisitingCar {
  const { phases, taperFrom, isIdeal, reactionMs, stubbornShare } = vehicle;
  const isDc = connector.dc != null;
  const phasesOfMax = isDc ? 3 : maxKw === undefined ? phases : Math.min(phases, connector.phases);
  const maxW = 1000 * (maxKw ?? vehicle.maxKw);
  return {
    phases,
    taperFrom,
    isIdeal,
    batteryWh: requestedWh,
    storedWh: 0,
    maxCurrentA: isDc ? ampereOfDcW(maxW, connector) : maxW / (connector.voltageV * phasesOfMax),
    reactionMs: draw.whole(reactionMs),
    isStubborn: draw.share() < stubbornShare,
  };
}

// Gives each virtual connector its visits one after another, in the time of the charger.

/**
 * Returns a source of cars for each connector; each source may be created and used only once.
 * @param visits in order of time.
 * @param zeroAtMs the instant at which the clock of the chargers is 0.
 */
export function createArrivals(
  visits: readonly Visit[],
  zeroAtMs: EpochMs,
): (connectorKey: string) => NextCar {
  const byConnector = new Map<string, Visit[]>();
  for (const visit of visits) {
    const own = byConnector.get(visit.connectorKey);
    if (own === undefined) byConnector.set(visit.connectorKey, [visit]);
    else own.push(visit);
  }
  return (connectorKey) => {
    const own = byConnector.get(connectorKey) ?? [];
    let next = 0;
    return (fromMs) => {
      for (let visit = own[next]; visit !== undefined; visit = own[next]) {
        next++;
        const { car, sessionId } = visit;
        // If the previous car leaves at the same instant or later, the next car waits for the connector.
        const arrivesAtMs = Math.max(fromMs, visit.arrivesAtMs - zeroAtMs);
        const leavesAtMs = visit.leavesAtMs - zeroAtMs;
        if (arrivesAtMs < leavesAtMs) return onVisit(car, { arrivesAtMs, leavesAtMs, sessionId });
      }
      return NO_CAR;
    };
  };
}
