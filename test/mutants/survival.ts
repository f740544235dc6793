// Every mutant of a machine is seen from outside: the story of a service that runs with it goes another way.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MACHINES, type Mutant, mutantsOf } from './mutants.js';
import { tellStory } from './story.js';

/** How the story goes with the machines as they are; told once for all files of a process. */
let known: Promise<readonly string[]> | undefined;

async function wholeStory(): Promise<readonly string[]> {
  const lines: string[] = [];
  await tellStory((line) => lines.push(line) > 0);
  return lines;
}

/** The first line that is another than it was; undefined where the story is the same. */
async function firstChange(before: readonly string[]): Promise<string | undefined> {
  let next = 0;
  let change: string | undefined;
  await tellStory((line) => {
    if (line !== before[next++]) change ??= line;
    return change === undefined;
  });
  return change ?? (next < before.length ? '(it ends early)' : undefined);
}

async function changeBy(mutant: Mutant, before: readonly string[]): Promise<string | undefined> {
  const putBack = mutant.plant();
  try {
    return await firstChange(before);
  } catch (error) {
    return `it breaks: ${error}`;
  } finally {
    putBack();
  }
}

/** Describes what each mutant of the machine does to the story. */
export function describeMutants(machineId: string): void {
  const machine = MACHINES.get(machineId);
  if (machine === undefined) throw new Error(`there is no machine ${machineId}`);
  const mutants = mutantsOf(machine);
  describe(`The machine ${machineId}`, () => {
    let before: readonly string[];
    beforeAll(async () => {
      known ??= wholeStory();
      before = await known;
    });

    for (const mutant of mutants)
      it(`needs ${mutant.name}`, async () => expect(await changeBy(mutant, before)).toBeDefined());

    afterAll(async () => {
      // Whatever was planted is gone, and nothing else makes the story go another way.
      expect(await firstChange(before)).toBeUndefined();
    });
  });
}
