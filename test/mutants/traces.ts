// Finds the scenarios whose limits, power or alarms change if the service runs with a mutant, or the courses of a
// charger behind a gateway whose requests or messages change.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { TraceEvent } from '../../sim/log/trace-event.js';
import { CellHosts } from '../../sim/run/cell-hosts.js';
import { cellsOf } from '../../sim/run/cells.js';
import { parseScenario } from '../../sim/scenario/parse-scenario.js';
import { sessionsOf } from '../../sim/sessions/sessions-of.js';
import { effectOf } from './effects.js';
import { MACHINES, type Mutant, mutantsOf } from './mutants.js';
import { OF_THE_GATEWAY, SessionCourses } from './session-course.js';

/** Scenarios that involve most of the machines come first. */
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
/** Machines that only one scenario involves. */
const NEAREST: Readonly<Record<string, string>> = { lpc: 'grid-operator', siteMeter: 'building' };

/** Scenarios run for this long before the hashes are compared. After a change, the rest of a trace adds nothing. */
const STRETCH_MS = 300_000;

/**
 * A scenario's host never lacks processor time, and profiles of an organization limit no power. Stories cover both by
 * their answers.
 */
export const NEVER_TRACED: ReadonlySet<string> = new Set(['overload', 'organization']);

/** One process at a time, because a mutant affects every actor of the process. */
export class ScenarioTraces {
  /** For each scenario, the hash of its trace so far after each stretch. */
  readonly #known = new Map<string, readonly string[]>();
  readonly #courses = new SessionCourses();

  /** The first scenario that fails or changes its trace under the mutant, or undefined. A gateway has courses instead. */
  async firstChangedBy(
    mutant: Mutant,
    scenarios: readonly string[] = scenariosFor(mutant),
  ): Promise<string | undefined> {
    if (OF_THE_GATEWAY.has(mutant.machine)) return this.#courses.firstChangedBy(mutant);
    for (const name of scenarios) {
      const known = await this.#hashesOf(name);
      const putBack = mutant.plant();
      try {
        let stretch = 0;
        for await (const hash of play(name)) if (hash !== known[stretch++]) return name;
      } catch {
        return `${name}, which breaks`;
      } finally {
        putBack();
      }
    }
    return undefined;
  }

  async #hashesOf(name: string): Promise<readonly string[]> {
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    const hashes: string[] = [];
    for await (const hash of play(name)) hashes.push(hash);
    this.#known.set(name, hashes);
    return hashes;
  }
}

function scenariosFor({ machine }: Mutant): readonly string[] {
  const nearest = NEAREST[machine];
  return nearest === undefined ? SCENARIOS : [nearest, ...SCENARIOS.filter((name) => name !== nearest)];
}

export function allMutants(): readonly Mutant[] {
  return [...MACHINES.values()].flatMap(mutantsOf);
}

/** Plays the scenario and yields the hash of all events so far after each stretch. */
async function* play(name: string): AsyncGenerator<string> {
  const path = `scenarios/${name}.yaml`;
  const scenario = parseScenario(readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8'), path);
  const cells = cellsOf(scenario, sessionsOf(scenario, scenario.seed));
  const hashes = cells.map(() => createHash('sha256'));
  const add = (events: readonly TraceEvent[], cell: number) => {
    for (const event of events) hashes[cell]?.update(`${JSON.stringify(effectOf(event))}\n`);
  };
  const hosts = new CellHosts(cells.length, 1);
  const open = await hosts.openAll(cells);
  try {
    for (const [cell, { begun }] of open.entries()) add(begun.events, cell);
    for (let atMs = scenario.startsAtMs; atMs < scenario.endsAtMs; ) {
      atMs = Math.min(atMs + STRETCH_MS, scenario.endsAtMs);
      for (const [cell, each] of open.entries()) add((await each.advance(atMs)).events, cell);
      yield hashes.map((hash) => hash.copy().digest('hex')).join();
    }
  } finally {
    await Promise.all(open.map((each) => each.close()));
  }
}
