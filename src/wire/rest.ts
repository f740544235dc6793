// Fields of REST bodies: instants, powers, priorities and texts.

import { z } from 'zod';
import 'zod-openapi';
import { HIGHEST_PRIORITY } from '../../machines/limits/profile-stack.js';
import { mustBe, mustBeText } from './plain-errors.js';

/** The last instant with four digits for the year, and so the last that is allowed. */
export const LAST_INSTANT_MS = Date.parse('9999-12-31T23:59:59.999Z');

// One pattern is the whole rule: so clients generated from OpenAPI refuse the same texts as the service. It has no
// look-around, which some languages lack. A date before 1970 is usually a default value. `Date` has no leap second.
const YEAR = '(19[7-9]\\d|[2-9]\\d{3})';
const LEAP_YEAR =
  '(19(7[26]|8[048]|9[26])|[2-9]\\d(0[48]|[2468][048]|[13579][26])|([2468][048]|[3579][26])00)';
const DAY_OF_ANY_YEAR =
  '((0[13578]|1[02])-(0[1-9]|[12]\\d|3[01])|(0[469]|11)-(0[1-9]|[12]\\d|30)|02-(0[1-9]|1\\d|2[0-8]))';
const TIME = '([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d+)?';
const INSTANT = new RegExp(`^(${YEAR}-${DAY_OF_ANY_YEAR}|${LEAP_YEAR}-02-29)[Tt]${TIME}([Zz]|\\+00:00)$`);

const INSTANT_RULE = 'an RFC 3339 date-time in UTC from 1970 to 9999, such as 2026-06-01T17:00:00Z';

export const instantSchema = z
  .string(mustBeText(INSTANT_RULE))
  .regex(INSTANT, `must be ${INSTANT_RULE}`)
  .meta({
    id: 'Instant',
    format: 'date-time',
    description: 'RFC 3339 in UTC (`Z` or `+00:00`), from 1970 to 9999, no leap second.',
    example: '2026-06-01T17:00:00.000Z',
  });

/** A gigawatt: far above any site's connection, and far below the size at which sums of limits lose precision. */
export const MOST_LIMIT_KW = 1_000_000;
export const LIMIT_KW_RULE = `a number greater than 0 and at most ${MOST_LIMIT_KW}, in kW`;

export function powerSchema(rule: string) {
  return z
    .number(mustBe(rule))
    .gt(0)
    .max(MOST_LIMIT_KW)
    .meta({ description: 'Power limit in kW.', example: 42.5 });
}

export const limitKwSchema = powerSchema(LIMIT_KW_RULE);

export const PRIORITY_RULE = `a whole number from 0 to ${HIGHEST_PRIORITY}`;

export const prioritySchema = z
  .number(mustBe(PRIORITY_RULE))
  .int()
  .min(0)
  .max(HIGHEST_PRIORITY)
  .meta({ description: '0 (lowest) to 10 (highest).' });

export const STORABLE_RULE = 'must not contain the NUL character or half a surrogate pair';

/** Every database stores `text` unchanged: PostgreSQL takes no NUL, and UTF-8 has no lone surrogate. */
export function isStorable(text: string): boolean {
  return !text.includes('\0') && !/\p{Surrogate}/u.test(text);
}

/**
 * Text of 1 to `most` characters that every database stores. Characters are code points, as JSON Schema counts them.
 */
export function textSchema(most: number) {
  const rule = `text of 1 to ${most} characters`;
  return z.string(mustBeText(rule)).regex(new RegExp(`^[^\\u0000\\uD800-\\uDFFF]{1,${most}}$`, 'u'), {
    error: ({ input }) =>
      typeof input === 'string' && !isStorable(input) ? STORABLE_RULE : `must be ${rule}`,
  });
}

export const operatingStatusSchema = z.enum(['ACTIVE', 'INACTIVE']);

/** Power of a location in answers and events, with its estimated part. */
export const drawnPowerShape = {
  actualKw: z.number(),
  estimatedKw: z.number().nullable().meta({
    description:
      'Estimated part of `actualKw`, for silent connectors, at most their entitlements; null if all is measured.',
  }),
};
