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

const PHASES = ['L1', 'L2', 'L3'];
/** Where else a charger may measure than at what a car is plugged into. */
const ELSEWHERE = ['Body', 'Cable', 'EV', 'Upstream'];

type Triple = [number, number, number];

/** Values of one instant. What is not measured, or not in a unit that is known, is left out. */
export function meteredValues(
  ownMs: number,
  transaction: TransactionRef | undefined,
  sampled: readonly Sampled[],
): MeteredValues {
  const here = sampled.filter(
    ({ value, location }) => Number.isFinite(value) && !ELSEWHERE.includes(location ?? 'Outlet'),
  );
  const of = (measurand: string) => here.filter((one) => one.measurand === measurand);
  const powerW = sumOf(of('Power.Active.Import').map((one) => ({ ...one, value: inWatts(one) })));
  const currents = of('Current.Import');
  return {
    ownMs,
    transaction,
    powerW,
    currentA: perPhase(currents) ?? onAllPhases(currents),
    voltageV: perPhase(of('Voltage')),
    energyWh: sumOf(of('Energy.Active.Import.Register').map((one) => ({ ...one, value: inWatts(one) }))),
  };
}

function phaseOf({ phase }: Pick<Sampled, 'phase'>): number {
  return PHASES.indexOf((phase ?? '').replace(/-N$/, ''));
}

function scaled({ value, multiplier = 0 }: Sampled): number {
  return value * 10 ** multiplier;
}

/** W of W and kW, Wh of Wh and kWh. */
function inWatts(sampled: Sampled): number {
  return scaled(sampled) * (sampled.unit?.startsWith('k') ? 1000 : 1);
}

/** The total, or the sum of phases where there is none. */
function sumOf(values: readonly Sampled[]): number | undefined {
  const total = values.find(({ phase }) => phase === undefined);
  if (total !== undefined) return total.value;
  const phases = values.filter((one) => phaseOf(one) >= 0);
  if (phases.length === 0) return undefined;
  return phases.reduce((sum, { value }) => sum + value, 0);
}

function perPhase(values: readonly Sampled[]): Triple | undefined {
  const triple: Triple = [0, 0, 0];
  let isAny = false;
  for (const one of values) {
    const phase = phaseOf(one);
    if (phase < 0) continue;
    triple[phase] = scaled(one);
    isAny = true;
  }
  return isAny ? triple : undefined;
}

/** One current for all phases: the most loaded one, so each may be that much. */
function onAllPhases(values: readonly Sampled[]): Triple | undefined {
  const one = values.find(({ phase }) => phase === undefined);
  if (one === undefined) return undefined;
  const valueA = scaled(one);
  return [valueA, valueA, valueA];
}
