// Parses the command line of the energy bench; a mistake gives one readable line.
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { POLICY_NAMES } from '../../machines/policy/policies.js';
import { localInstantSchema } from '../../sim/scenario/moment.js';
import { COLUMNS } from './energy-scenario.js';

/** A mistake in the command line. */
export class OptionError extends Error {}

const OPTIONS = {
  sessions: { type: 'string' },
  from: { type: 'string' },
  days: { type: 'string', default: '1' },
  caps: { type: 'string', default: '10,30' },
  columns: { type: 'string', default: 'ideal,calm' },
  energy: { type: 'string', default: 'requested' },
  'time-zone': { type: 'string' },
  jobs: { type: 'string', default: '1' },
  seed: { type: 'string', default: '1' },
  policies: { type: 'string', default: 'equal' },
  declared: { type: 'string', default: '1' },
  'time-error': { type: 'string', default: '0' },
  'need-error': { type: 'string', default: '0' },
  forecasts: { type: 'boolean', default: false },
} as const;

function numberSchema(min: number, max: number) {
  const rule = `must be a number from ${min} to ${max}`;
  return z
    .string()
    .regex(/^\d{1,10}(\.\d{1,6})?$/, rule)
    .transform(Number)
    .refine((value) => value >= min && value <= max, rule);
}

function wholeSchema(min: number, max: number) {
  return numberSchema(min, max).refine(Number.isInteger, 'must be a whole number');
}

function listSchema<S extends z.ZodType<unknown, string>>(element: S) {
  return z
    .string()
    .transform((text) => text.split(','))
    .pipe(z.array(element));
}

const optionsSchema = z.object({
  sessions: z.string().optional(),
  from: localInstantSchema.optional(),
  days: numberSchema(0.001, 400),
  caps: listSchema(numberSchema(0.001, 1_000_000)),
  columns: listSchema(z.enum(COLUMNS, `must be of ${COLUMNS.join(', ')}`)),
  energy: z.enum(['requested', 'delivered'], 'must be requested or delivered'),
  'time-zone': z.string().optional(),
  jobs: wholeSchema(1, 64),
  seed: wholeSchema(0, 2 ** 31 - 1),
  policies: listSchema(z.enum(POLICY_NAMES, `must be of ${POLICY_NAMES.join(', ')}`)),
  declared: numberSchema(0, 1),
  'time-error': numberSchema(0, 24),
  'need-error': numberSchema(0, 1),
  forecasts: z.boolean(),
});
export type EnergyOptions = z.output<typeof optionsSchema>;

/** @throws OptionError */
export function readOptions(args: readonly string[]): EnergyOptions {
  const { values } = parsed(args);
  const options = optionsSchema.safeParse(values);
  if (options.success) return options.data;
  const lines = options.error.issues.map(({ path: [name], message }) => `--${String(name)}: ${message}`);
  throw new OptionError(lines.join('\n'));
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({ options: OPTIONS, args: [...args] });
  } catch (error) {
    // The message of Node names the unknown option.
    throw error instanceof TypeError ? new OptionError(error.message) : error;
  }
}
