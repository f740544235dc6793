// What a mutant does to whole scenarios: which of their traces is another, to the byte, when the service runs with it.
import { readFileSync } from 'node:fs';
import { runScenario } from '../../sim/run/run-scenario.js';
import { parseScenario } from '../../sim/scenario/parse-scenario.js';
import { MACHINES, type Mutant, mutantsOf } from './mutants.js';

/** Those that show most of the machines come first. */
const SCENARIOS = [
  'cluster-switched-off',
  'limit-taken-back',
  'cluster-cap',
  'lock-on-a-full-site',
  'restart-mid-window',
  'grid-operator',
  'building',
  'peak-shaving',
  'everything-at-once',
];
/** Where a machine is seen in one scenario alone. */
const NEAREST: Readonly<Record<string, string>> = { operator: 'grid-operator', siteMeter: 'building' };

/** One process at a time: what a mutant lacks, it lacks for every actor of the process. */
export class ScenarioTraces {
  readonly #known = new Map<string, string>();

  /** The first scenario whose trace the mutant changes, or that breaks by it; undefined where none does. */
  async firstChangedBy(
    mutant: Mutant,
    scenarios: readonly string[] = scenariosFor(mutant),
  ): Promise<string | undefined> {
    for (const name of scenarios) {
      const known = this.#known.get(name) ?? (await hashOf(name));
      this.#known.set(name, known);
      const putBack = mutant.plant();
      try {
        if ((await hashOf(name)) !== known) return name;
      } catch {
        return `${name}, which breaks`;
      } finally {
        putBack();
      }
    }
    return undefined;
  }
}

function scenariosFor({ machine }: Mutant): readonly string[] {
  const nearest = NEAREST[machine];
  return nearest === undefined ? SCENARIOS : [nearest, ...SCENARIOS.filter((name) => name !== nearest)];
}

/** Every mutant of every machine. */
export function allMutants(): readonly Mutant[] {
  return [...MACHINES.values()].flatMap(mutantsOf);
}

async function hashOf(name: string): Promise<string> {
  const path = `scenarios/${name}.yaml`;
  const scenario = parseScenario(readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8'), path);
  return (await runScenario(scenario)).hash;
}
