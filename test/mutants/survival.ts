// Every mutant of a machine is seen from outside: a story of a service that runs with it goes another way.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { METER_STORY } from './meter-story.js';
import { MACHINES, type Mutant, mutantsOf } from './mutants.js';
import { OPERATOR_STORY } from './operator-story.js';
import { SITE_STORY } from './site-story.js';
import { type Story, tellStory } from './story.js';

/** How each story goes with the machines as they are; told once for all files of a process. */
const known = new Map<Story, Promise<readonly string[]>>();

function wholeStory(story: Story): Promise<readonly string[]> {
  const lines: string[] = [];
  const told = known.get(story) ?? tellStory(story, (line) => lines.push(line) > 0).then(() => lines);
  known.set(story, told);
  return told;
}

/** The first line that is another than it was; undefined where the story is the same. */
async function firstChange(story: Story): Promise<string | undefined> {
  const before = await wholeStory(story);
  let next = 0;
  let change: string | undefined;
  await tellStory(story, (line) => {
    if (line !== before[next++]) change ??= line;
    return change === undefined;
  });
  return change ?? (next < before.length ? '(it ends early)' : undefined);
}

async function changeBy(mutant: Mutant, story: Story): Promise<string | undefined> {
  const putBack = mutant.plant();
  try {
    return await firstChange(story);
  } catch (error) {
    return `it breaks: ${error}`;
  } finally {
    putBack();
  }
}

/** Describes what each mutant of the machine does to one of the stories; the first that may show it comes first. */
export function describeMutants(
  machineId: string,
  stories: readonly Story[] = [SITE_STORY, OPERATOR_STORY, METER_STORY],
): void {
  const machine = MACHINES.get(machineId);
  if (machine === undefined) throw new Error(`there is no machine ${machineId}`);
  const mutants = mutantsOf(machine);
  describe(`The machine ${machineId}`, () => {
    beforeAll(async () => {
      for (const story of stories) await wholeStory(story);
    });

    for (const mutant of mutants)
      it(`needs ${mutant.name}`, async () => {
        let change: string | undefined;
        for (const story of stories) change ??= await changeBy(mutant, story);
        expect(change).toBeDefined();
      });

    afterAll(async () => {
      // Whatever was planted is gone, and nothing else makes a story go another way.
      for (const story of stories) expect(await firstChange(story)).toBeUndefined();
    });
  });
}
