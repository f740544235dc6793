// Converts meter values of OCPP to power, currents and voltages of one connector: sums, phases and units.
import type { MeteredValues, TransactionRef } from '../../../machines/session/gateway-request.js';

/** One value, in the common words of OCPP 1.6 and 2.0.1. */
export interface Sampled {
  readonly value: number;
  readonly measurand: string;
  readonly phase: string | undefined;
  readonly location: string | undefined;
  readonly unit: string | undefined;
  /** Power of ten. */
  readonly multiplier?: number | undefined;
}

/** Index of each phase. Other values are of the neutral conductor, or between two phases. */
const PHASES: ReadonlyMap<string, 0 | 1 | 2> = new Map([
  ['L1', 0],
  ['L2', 1],
  ['L3', 2],
  ['L1-N', 0],
  ['L2-N', 1],
  ['L3-N', 2],
]);
/**
 * Largest values of the MQTT contract. The service refuses a message with a larger one, so the connector would be silent
 * for one absurd value.
 */
const MOST: Readonly<Record<string, number>> = {
  SoC: 100,
  'Power.Active.Import': 10_000_000,
  'Current.Import': 10_000,
  Voltage: 10_000,
  'Energy.Active.Import.Register': Number.MAX_SAFE_INTEGER,
};
/** Places of measurement other than the one at the car's plug. */
const ELSEWHERE = ['Body', 'Cable', 'EV', 'Upstream'];

type Triple = [number, number, number];

/** Values of one measurand: of all phases together, of each, or both. The first value of a kind counts. */
class Measured {
  #total: number | undefined;
  #phases: Triple | undefined;
  readonly #isSaid = [false, false, false];
  #sumOfPhases = 0;

  add(phase: string | undefined, value: number): void {
    if (phase === undefined) {
      this.#total ??= value;
      return;
    }
    const i = PHASES.get(phase);
    if (i === undefined || this.#isSaid[i]) return;
    this.#isSaid[i] = true;
    this.#phases ??= [0, 0, 0];
    this.#phases[i] = value;
    this.#sumOfPhases += value;
  }

  /** The total; without one, the sum of the phases. */
  get sum(): number | undefined {
    return this.#total ?? (this.#phases && this.#sumOfPhases);
  }

  get total(): number | undefined {
    return this.#total;
  }

  get perPhase(): Triple | undefined {
    return this.#phases;
  }

  /** A single current for all phases is that of the most loaded phase: each phase may carry as much. */
  get onEachPhase(): Triple | undefined {
    const total = this.#total;
    return this.#phases ?? (total === undefined ? undefined : [total, total, total]);
  }
}

/** Values of one instant. Missing and absurd values are left out. */
export function meteredValues(
  ownMs: number,
  transaction: TransactionRef | undefined,
  sampled: readonly Sampled[],
): MeteredValues {
  const [power, current, voltage, energy] = [new Measured(), new Measured(), new Measured(), new Measured()];
  let socPercent: number | undefined;
  // Inlet and outlet measure the same power. The outlet is where the car is, so its value comes first.
  const isInlet = ({ location }: Sampled) => Number(location === 'Inlet');
  for (const one of sampled.toSorted((a, b) => isInlet(a) - isInlet(b))) {
    const { measurand, phase, location } = one;
    const value = scaled(one);
    if (!(Math.abs(value) <= (MOST[measurand] ?? Number.NEGATIVE_INFINITY))) continue;
    // Its place of measurement is the car.
    if (measurand === 'SoC') socPercent ??= value;
    else if (location !== undefined && ELSEWHERE.includes(location)) continue;
    else if (measurand === 'Power.Active.Import') power.add(phase, value);
    else if (measurand === 'Current.Import') current.add(phase, value);
    else if (measurand === 'Voltage') voltage.add(phase, value);
    else if (measurand === 'Energy.Active.Import.Register') energy.add(phase, value);
  }
  return {
    ownMs,
    transaction,
    powerW: power.sum,
    currentA: current.onEachPhase,
    namesPhases: current.perPhase !== undefined,
    voltageV: voltage.perPhase,
    totalVoltageV: voltage.total,
    energyWh: energy.sum,
    socPercent,
  };
}

/** In A, V, W and Wh: the units with a prefix are kW and kWh. Not a number for an absurd multiplier. */
function scaled({ value, multiplier = 0, unit }: Sampled): number {
  return value * 10 ** multiplier * (unit?.startsWith('k') ? 1000 : 1);
}
