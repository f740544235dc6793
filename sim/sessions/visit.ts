// A visit of a car to a connector. The car depends on its class and on the connector.
import type { EpochMs } from '../../machines/values/time.js';
import type { VisitingCar } from '../charger/car.js';
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
