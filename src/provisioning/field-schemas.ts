// The fields of files that people write: bounds, and for each an error that says what must be.
import { z } from 'zod';
import { isId } from '../../machines/values/ids.js';
import { CHOSEN_SECRET_RULE, isChosenSecretFit } from '../secrets.js';
import { isStorable, LIMIT_KW_RULE, MOST_LIMIT_KW, STORABLE_RULE } from '../wire/rest.js';

export const GROUP_RULE = 'must be a group of fields';
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

/** A password or client secret that somebody chose. */
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

export function wholeSchema(min: number, max: number) {
  const rule = `must be a whole number from ${min} to ${max}`;
  return z.number(rule).int(rule).min(min, rule).max(max, rule);
}
