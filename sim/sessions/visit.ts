// One car's visit to one connector, and the car as its class and the connector make it.
import type { EpochMs } from '../../machines/values/time.js';
import type { VisitingCar } from '../charger/car.js';
import { ampereOfDcW } from '../charger/direct-current.js';
import type { Draw } from '../scenario/draw.js';
import type { ScenarioConnector, VehicleClass } from '../scenario/scenario.js';

/** Visits of one connector do not overlap; one may begin when the one before ends. */
export interface Visit {
  readonly connectorKey: string;
  /** Unique in the scenario. */
  readonly sessionId: string;
  readonly arrivesAtMs: EpochMs;
  readonly leavesAtMs: EpochMs;
  readonly requestedWh: number;
  /** The class of the car. */
  readonly vehicle: string;
  /** It takes `requestedWh`, then it is full. */
  readonly car: VisitingCar;
}

/**
 * A car of `vehicle` at `connector`.
 * @param maxKw what it drew at most at such a connector, where that is known; else the class says it.
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
