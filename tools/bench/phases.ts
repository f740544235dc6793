// Cars at three-phase connectors: share of the best schedule that they get after their phases are learnt and
// reallocated, or switched.
import { runScenario } from '../../sim/run/run-scenario.js';
import { type Figure, machine, remark, report } from './bench.js';
import { bestWh, type PhasesCase, phasesScenario } from './phases-scenario.js';

const HOURS = 10;
const STARTS_GOAL = 1.2;

type Measured = Pick<PhasesCase, 'cars' | 'limitKw' | 'wiring' | 'fuseA' | 'carPhases' | 'switchesPhases'> & {
  readonly shareGoal?: number;
};

const CASES: readonly Measured[] = [
  { cars: 8, limitKw: 50, wiring: 'rotated', shareGoal: 0.98 },
  { cars: 12, limitKw: 43, wiring: 'rotated', shareGoal: 0.97 },
  { cars: 12, limitKw: 100, wiring: 'onL1', fuseA: 63 },
  { cars: 1, limitKw: 3.6, wiring: 'rotated', carPhases: 3, switchesPhases: true, shareGoal: 0.95 },
  { cars: 6, limitKw: 10, wiring: 'rotated', carPhases: 3, switchesPhases: true, shareGoal: 0.95 },
  // For comparison, chargers that cannot switch.
  { cars: 1, limitKw: 3.6, wiring: 'rotated', carPhases: 3 },
  { cars: 6, limitKw: 10, wiring: 'rotated', carPhases: 3 },
];

async function figuresOf({ shareGoal, ...measured }: Measured): Promise<readonly Figure[]> {
  const phases = { ...measured, endsWithSession: true, hours: HOURS, seed: 1 };
  const { summary, fuses } = await runScenario(phasesScenario(phases));
  const [site] = summary.locations;
  const share = (site?.deliveredWh ?? Number.NaN) / bestWh(phases);
  const starts = site?.startsPerSession ?? Number.NaN;
  const of =
    phases.carPhases === 3
      ? `three phases, ${phases.switchesPhases === true ? '' : 'not '}switched`
      : 'one phase';
  const name = `${phases.cars} cars of ${of}, ${phases.wiring === 'onL1' ? 'all on L1' : 'rotated'}, ${phases.limitKw} kW`;
  remark(
    `${name}, ${HOURS} h: ${(100 * share).toFixed(1)} % of the best possible schedule, ${starts.toFixed(2)} starts a session, ${summary.violations} violations`,
  );
  const figures: Figure[] = [];
  // On a single phase, even the minimum currents exceed the capacity: every schedule needs rotation.
  if (shareGoal !== undefined)
    figures.push({
      name: `${name}: of the best possible schedule`,
      measured: `${(100 * share).toFixed(1)} %`,
      goal: `≥ ${100 * shareGoal} %`,
      met: share >= shareGoal,
    });
  if (shareGoal !== undefined && phases.carPhases !== 3)
    figures.push({
      name: `${name}: starts a session`,
      measured: starts.toFixed(2),
      goal: `≤ ${STARTS_GOAL}`,
      met: starts <= STARTS_GOAL,
    });
  for (const { name: circuitPhase, carriesA, mostA, overAs } of fuses.filter((each) =>
    each.name.startsWith('L1'),
  ))
    figures.push({
      name: `${name}: most on ${circuitPhase}`,
      measured: `${mostA.toFixed(1)} A, ${overAs} A s above`,
      goal: `≤ ${carriesA} A`,
      met: mostA <= carriesA && overAs === 0,
    });
  return figures;
}

remark(machine());
const figures: Figure[] = [];
for (const each of CASES) figures.push(...(await figuresOf(each)));
report(figures);
