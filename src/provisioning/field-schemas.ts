// Field schemas for files that people write: bounds, and for each an error with the rule.
import { z } from 'zod';
import type { PhaseCurrents } from '../../machines/power/fuses.js';
import { isId } from '../../machines/values/ids.js';
import { MINIMUM_CURRENT_A } from '../../machines/values/units.js';

import { isStorable, LIMIT_KW_RULE, MOST_LIMIT_KW, STORABLE_RULE } from '../wire/rest.js';

export const GROUP_RULE = 'must be a group of fields';
export const FEEDER_RULE = 'must be the name of one feeder; the feeders above it count without being named';
const ID_RULE = 'must be text of 1 to 128 characters of A-Z a-z 0-9 . _ : -';

export function idSchema<T extends string>() {
  return z
    .string(ID_RULE)
    .refine(isId, ID_RULE)
    .transform((text) => text as T);
}

export function textSchema(max: number) {
  const rule = `must be text of 1 to ${max} characters`;
  return z.string(rule).min(1, rule).max(max, rule).refine(isStorable, STORABLE_RULE);
}

const SHORTEST_CHOSEN = 12;

const LONGEST_CHOSEN = 256;

const DIFFERENT_CHARACTERS = 5;

/** Rule for chosen secrets, for messages. */
export const CHOSEN_SECRET_RULE = `must be text of ${SHORTEST_CHOSEN} to ${LONGEST_CHOSEN} characters, at least ${DIFFERENT_CHARACTERS} of them different, no short piece repeated and no sequence like abcdef`;

// Digits and letters in order, forward or backward.
const SEQUENCES = ['01234567890', 'abcdefghijklmnopqrstuvwxyza'].flatMap((sequence) => [
  sequence,
  [...sequence].reverse().join(''),
]);

/** A chosen secret that is neither short nor regular: `CHOSEN_SECRET_RULE`. */
export function isChosenSecretFit(secret: string): boolean {
  const characters = [...secret.toLowerCase()];
  if (characters.length < SHORTEST_CHOSEN || characters.length > LONGEST_CHOSEN) return false;
  if (new Set(characters).size < DIFFERENT_CHARACTERS) return false;
  const isSequence = characters
    .slice(1)
    .every((next, i) => SEQUENCES.some((sequence) => sequence.includes(`${characters[i]}${next}`)));
  return !isSequence && !isRepeated(characters);
}

/** The whole text repeats one piece that would be too short by itself. */
function isRepeated(characters: readonly string[]): boolean {
  const longest = Math.min(SHORTEST_CHOSEN - 1, Math.floor(characters.length / 2));
  return Array.from({ length: longest }, (_, i) => i + 1).some((piece) =>
    characters.every((character, i) => character === characters[i % piece]),
  );
}

/** A password or client secret that a person chose. */
export function secretSchema() {
  const rule = `${CHOSEN_SECRET_RULE}; leave it out to keep the one that is stored or to have one made`;
  return z.string(rule).refine(isChosenSecretFit, rule).refine(isStorable, STORABLE_RULE);
}

export function numberSchema(min: number, max: number, unit: string) {
  const rule = `must be a number from ${min} to ${max}, in ${unit}`;
  return z.number(rule).min(min, rule).max(max, rule);
}

export function powerSchema() {
  const rule = `must be ${LIMIT_KW_RULE}`;
  return z.number(rule).gt(0, rule).max(MOST_LIMIT_KW, rule);
}

export function listSchema<S extends z.ZodType>(element: S) {
  return z.array(element, 'must be a list');
}

const CURRENTS_RULE =
  'must be A per phase, from 6 to 10000, or a list of three for L1, L2 and L3; 0 where a phase has no fuse';

/** Rating of a fuse, A of L1, L2 and L3; one number if all are equal. */
export function phaseCurrentsSchema() {
  const current = numberSchema(MINIMUM_CURRENT_A, 10_000, 'A');
  const ofPhase = z.union([z.literal(0), current], CURRENTS_RULE);
  return z
    .union([current, z.tuple([ofPhase, ofPhase, ofPhase], CURRENTS_RULE)], CURRENTS_RULE)
    .transform((given): PhaseCurrents => (typeof given === 'number' ? [given, given, given] : given));
}

/** Power at the car of a DC charger. */
export function dcPowerSchema(leastKw: number) {
  return numberSchema(leastKw, 10_000, 'kW at the car');
}

/**
 * DC chargers on the market have 0.93 to 0.96 at most loads. The default is lower, so that more is reserved than drawn.
 */
const EFFICIENCY = 0.9;

export function efficiencySchema() {
  return numberSchema(0.5, 1, 'kW at the car for each kW from the grid').default(EFFICIENCY);
}

export function wholeSchema(min: number, max: number) {
  const rule = `must be a whole number from ${min} to ${max}`;
  return z.number(rule).int(rule).min(min, rule).max(max, rule);
}

export function statusSchema() {
  return z.enum(['ACTIVE', 'INACTIVE'], 'must be ACTIVE or INACTIVE').default('ACTIVE');
}
