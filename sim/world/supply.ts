// Feeds chargers from lines of the grid whose voltage sags under load, so that amperes and watts differ.
import type { PerPhase } from '../charger/car.js';
import type { GridLine } from '../scenario/scenario.js';
import type { Agenda } from './agenda.js';
import { kwAt } from './building.js';
import type { ChargerRun } from './charger-run.js';
import type { Tracer } from './world-record.js';

type PhaseRotation = ChargerRun['charger']['connectors'][number]['rotation'];

/** Interval at which the voltage follows the load. */
const STEP_MS = 1_000;
const PHASES = [0, 1, 2] as const;
const LETTERS = 'RST';

/**
 * Phase-to-neutral voltages at the end of `line`, in V to a tenth: U = U0 − R · I on each phase. All loads have a
 * power factor of 1 (the approximate line segment in W. H. Kersting, Distribution System Modeling and Analysis).
 * The draw of others is spread over the phases, and counted at the voltage of the source.
 * @param currentA draw of the chargers
 */
export function voltagesOf(line: GridLine, baseKw: number, currentA: PerPhase): PerPhase {
  const { sourceVoltageV, resistanceOhm } = line;
  const baseA = (1000 * baseKw) / (PHASES.length * sourceVoltageV);
  const sagged = (phaseA: number) => {
    const voltageV = sourceVoltageV - resistanceOhm * (baseA + phaseA);
    return Math.round(10 * Math.max(0, voltageV)) / 10;
  };
  return [sagged(currentA[0]), sagged(currentA[1]), sagged(currentA[2])];
}

interface SupplyOptions {
  readonly runs: readonly ChargerRun[];
  readonly agenda: Agenda;
  readonly tracer: Tracer | undefined;
}

/** One line, with the chargers of its locations. */
export class Supply {
  readonly #line: GridLine;
  readonly #runs: readonly ChargerRun[];
  readonly #agenda: Agenda;
  readonly #tracer: Tracer | undefined;
  #voltagesV: PerPhase | undefined;

  constructor(line: GridLine, { runs, agenda, tracer }: SupplyOptions) {
    this.#line = line;
    this.#runs = runs.filter(({ charger }) => line.locationIds.includes(charger.address.locationId));
    this.#agenda = agenda;
    this.#tracer = tracer;
  }

  /** The voltage follows the load from now on. */
  begin(): void {
    const atMs = this.#agenda.monotonicMs();
    this.#follow(atMs);
    this.#agenda.after(STEP_MS, () => this.begin());
  }

  #follow(atMs: number): void {
    const voltagesV = voltagesOf(this.#line, kwAt(this.#line.base, this.#agenda.nowMs()), this.#drawnA(atMs));
    if (PHASES.every((phase) => this.#voltagesV?.[phase] === voltagesV[phase])) return;
    this.#voltagesV = voltagesV;
    this.#tracer?.voltage(this.#line.name, voltagesV);
    for (const run of this.#runs) {
      run.charger.connectors.forEach(({ rotation }, i) => {
        const [first, second, third] = phasesOf(rotation);
        run.charger.supply(i, [voltagesV[first], voltagesV[second], voltagesV[third]], atMs);
      });
      run.wake();
    }
  }

  /** By phase of the grid. */
  #drawnA(atMs: number): PerPhase {
    const sumA: [number, number, number] = [0, 0, 0];
    for (const { charger } of this.#runs) {
      charger.advance(atMs);
      charger.outlets.forEach((outlet, i) => {
        const currentA = outlet.physicalCurrentA();
        phasesOf(charger.connectors[i]?.rotation).forEach((phase, own) => {
          sumA[phase] += currentA[own] ?? 0;
        });
      });
    }
    return sumA;
  }
}

type Phase = (typeof PHASES)[number];

/** Grid phases that feed L1, L2 and L3 of a connector; without a provisioned rotation, the same ones. */
function phasesOf(rotation: PhaseRotation): readonly [Phase, Phase, Phase] {
  const placeOf = (letter: string | undefined, otherwise: Phase) =>
    PHASES.find((phase) => LETTERS[phase] === letter) ?? otherwise;
  const [first, second, third] = rotation ?? LETTERS;
  return [placeOf(first, 0), placeOf(second, 1), placeOf(third, 2)];
}
