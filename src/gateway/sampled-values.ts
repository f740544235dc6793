// Meter values of OCPP as power, currents and voltages of one connector: sums, phases and units.
import type { MeteredValues, TransactionRef } from '../../machines/session/gateway-request.js';

/** One value, in the words that OCPP 1.6 and 2.0.1 share. */
export interface Sampled {
  readonly value: number;
  readonly measurand: string;
  readonly phase: string | undefined;
  readonly location: string | undefined;
  readonly unit: string | undefined;
  /** Power of ten. */
  readonly multiplier?: number | undefined;
}

/** Which one it is of the three; others are of the neutral conductor, or between two. */
const PHASES: ReadonlyMap<string, 0 | 1 | 2> = new Map([
  ['L1', 0],
  ['L2', 1],
  ['L3', 2],
  ['L1-N', 0],
  ['L2-N', 1],
  ['L3-N', 2],
]);
/** Where else a charger may measure than at what a car is plugged into. */
const ELSEWHERE = ['Body', 'Cable', 'EV', 'Upstream'];

type Triple = [number, number, number];

/** What one measurand says: of all phases together, of each, or both. What is said first counts. */
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

  /** The total, or the sum of phases where there is none. */
  get sum(): number | undefined {
    return this.#total ?? (this.#phases && this.#sumOfPhases);
  }

  get perPhase(): Triple | undefined {
    return this.#phases;
  }

  /** One value for all phases: that of the most loaded one, so each may be that much. */
  get onEachPhase(): Triple | undefined {
    const total = this.#total;
    return this.#phases ?? (total === undefined ? undefined : [total, total, total]);
  }
}

/** Values of one instant. What is not measured, or not in a unit that is known, is left out. */
export function meteredValues(
  ownMs: number,
  transaction: TransactionRef | undefined,
  sampled: readonly Sampled[],
): MeteredValues {
  const [power, current, voltage, energy] = [new Measured(), new Measured(), new Measured(), new Measured()];
  // The same power twice: a car has it at the outlet.
  const isInlet = ({ location }: Sampled) => Number(location === 'Inlet');
  for (const one of sampled.toSorted((a, b) => isInlet(a) - isInlet(b))) {
    const { value, measurand, phase, location } = one;
    if (!Number.isFinite(value) || (location !== undefined && ELSEWHERE.includes(location))) continue;
    if (measurand === 'Power.Active.Import') power.add(phase, inWatts(one));
    else if (measurand === 'Current.Import') current.add(phase, scaled(one));
    else if (measurand === 'Voltage') voltage.add(phase, scaled(one));
    else if (measurand === 'Energy.Active.Import.Register') energy.add(phase, inWatts(one));
  }
  return {
    ownMs,
    transaction,
    powerW: power.sum,
    currentA: current.onEachPhase,
    namesPhases: current.perPhase !== undefined,
    voltageV: voltage.perPhase,
    energyWh: energy.sum,
  };
}

function scaled({ value, multiplier }: Sampled): number {
  return multiplier === undefined ? value : value * 10 ** multiplier;
}

/** W of W and kW, Wh of Wh and kWh. */
function inWatts(sampled: Sampled): number {
  return scaled(sampled) * (sampled.unit?.startsWith('k') ? 1000 : 1);
}
