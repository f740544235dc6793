// Every mutant of every machine changes limits, power or alarms in a story of the service, or, for a machine of the
// gateway, requests or messages in a course of a charger.
import { afterAll, describe, expect } from 'vitest';
import { testCases } from '../seeds.js';
import { METER_STORY } from './meter-story.js';
import { MACHINES, type Mutant, mutantsOf } from './mutants.js';
import { OPERATOR_STORY } from './operator-story.js';
import { OVERLOAD_STORY } from './overload-story.js';
import { OF_THE_GATEWAY, SessionCourses } from './session-course.js';
import { SITE_STORY } from './site-story.js';
import { type About, type Story, tellStory } from './story.js';

/**
 * Parts that inform people, or refuse their requests, and change no power within a story. Answers and stream show them:
 * profiles of an organization (contract section 1), ends of locks, and orders of a grid operator with their times.
 */
const INFORMING = [
  /^(organization|overload)/,
  /^lpc.*without (followOrder|endInit|endOrder|endFailsafe|loseOperator)$/,
  /^location: connector\.unlocked|without reportUnlocked$/,
];

/** Each story with the names of the mutants that it tries first. */
const STORIES: readonly (readonly [Story, RegExp])[] = [
  [OPERATOR_STORY, /^lpc/],
  [OVERLOAD_STORY, /overload/],
  [METER_STORY, /siteMeter|import\.due|PeakShaving/],
  [SITE_STORY, /./],
];

/** Stories without requests need half the work. */
const UNASKED = new Map(STORIES.map(([story]) => [story, { ...story, reads: [] }]));

function storiesFor({ name }: Mutant): readonly Story[] {
  const nearest = STORIES.find(([, about]) => about.test(name))?.[0];
  const stories = STORIES.map(([story]) => story).sort(
    (a, b) => Number(b === nearest) - Number(a === nearest),
  );
  return INFORMING.some((part) => part.test(name))
    ? stories
    : stories.map((story) => UNASKED.get(story) ?? story);
}

/** Answers count in stories with requests alone. */
function counts(about: About, { reads }: Story): boolean {
  return about === 'effect' || reads.length > 0;
}

/** The lines of each story with the unchanged machines. */
const known = new Map<Story, readonly string[]>();

async function wholeStory(story: Story): Promise<readonly string[]> {
  const told = known.get(story);
  if (told !== undefined) return told;
  const lines: string[] = [];
  await tellStory(story, (line, about) => !counts(about, story) || lines.push(line) > 0);
  known.set(story, lines);
  return lines;
}

/** The first changed line, or undefined if the story is the same. */
async function firstChange(story: Story, before: readonly string[]): Promise<string | undefined> {
  let next = 0;
  let change: string | undefined;
  await tellStory(story, (line, about) => {
    if (counts(about, story) && line !== before[next++]) change ??= line;
    return change === undefined;
  });
  return change ?? (next < before.length ? '(it ends early)' : undefined);
}

async function changeBy(mutant: Mutant, story: Story): Promise<string | undefined> {
  const before = await wholeStory(story);
  const putBack = mutant.plant();
  try {
    return await firstChange(story, before);
  } catch (error) {
    return `it breaks: ${error}`;
  } finally {
    putBack();
  }
}

afterAll(async () => {
  // All mutants are removed, and nothing else changes a story.
  for (const [story, before] of known) expect(await firstChange(story, before), story.name).toBeUndefined();
  expect(courses.firstChangedSince()).toBeUndefined();
});

const ofTheGateway = [...MACHINES].filter(([id]) => OF_THE_GATEWAY.has(id));
const ofTheService = [...MACHINES].filter(([id]) => !OF_THE_GATEWAY.has(id));

describe.each(ofTheService)('The machine %s', (_, machine) => {
  testCases(mutantsOf(machine), 'needs $name', async (mutant) => {
    let change: string | undefined;
    for (const story of storiesFor(mutant)) change ??= await changeBy(mutant, story);
    expect(change, mutant.name).toBeDefined();
  });
});

const courses = new SessionCourses();

describe.each(ofTheGateway)('The machine %s', (_, machine) => {
  testCases(mutantsOf(machine), 'needs $name', async (mutant) => {
    expect(courses.firstChangedBy(mutant), mutant.name).toBeDefined();
  });
});
