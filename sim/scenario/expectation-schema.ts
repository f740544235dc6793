// Schema of the expectations of a scenario: numbers, reasons and alarms at instants, over spans and of the whole run.
import { z } from 'zod';
import { ALARM_KINDS, LIMIT_REASONS } from '../../machines/ledger/grant.js';
import type { LocationId } from '../../machines/values/ids.js';
import type { FieldProblem } from '../../src/provisioning/cross-checks.js';
import { GROUP_RULE, idSchema } from '../../src/provisioning/field-schemas.js';
import { momentSchema } from './moment.js';
import { type Bounds, type Measure, RUN_MEASURES } from './scenario.js';
import { connectorKeySchema } from './session-schema.js';

const BOUNDS_RULE = 'must be a number, or a group of fields with atLeast, atMost or both';
const REASON_RULE = `must be one of ${LIMIT_REASONS.join(', ')}, or a list of them`;
const ALARM_RULE = `must be one of ${ALARM_KINDS.join(', ')}, or a list of them`;

const boundsSchema = z
  .union(
    [
      z.number(),
      z
        .strictObject({ atLeast: z.number().optional(), atMost: z.number().optional() }, BOUNDS_RULE)
        .refine(({ atLeast, atMost }) => atLeast !== undefined || atMost !== undefined, BOUNDS_RULE),
    ],
    BOUNDS_RULE,
  )
  .transform((value): Bounds => {
    if (typeof value === 'number') return { atLeast: value, atMost: value };
    const { atLeast = Number.NEGATIVE_INFINITY, atMost = Number.POSITIVE_INFINITY } = value;
    return { atLeast, atMost };
  })
  .refine(({ atLeast, atMost }) => atLeast <= atMost, 'must have an atLeast that is at most its atMost')
  .optional();

/** One of `words`, or a list of them. */
function wordsSchema<W extends readonly [string, ...string[]]>(words: W, rule: string) {
  const wordSchema = z.enum(words, rule);
  return z
    .union([wordSchema, z.array(wordSchema, rule).min(1, rule)], rule)
    .transform((value): readonly W[number][] => (Array.isArray(value) ? value : [value]))
    .optional();
}

export const expectationSchema = z.strictObject(
  {
    at: momentSchema.optional(),
    from: momentSchema.optional(),
    until: momentSchema.optional(),
    location: idSchema<LocationId>().optional(),
    connector: connectorKeySchema.optional(),
    effectiveLimitKw: boundsSchema,
    gridLimitKw: boundsSchema,
    powerKw: boundsSchema,
    limitA: boundsSchema,
    reason: wordsSchema(LIMIT_REASONS, REASON_RULE),
    alarmOpen: wordsSchema(ALARM_KINDS, ALARM_RULE),
    alarmClosed: wordsSchema(ALARM_KINDS, ALARM_RULE),
    energyShare: boundsSchema,
    energyKwh: boundsSchema,
    overshootKws: boundsSchema,
    startsPerSession: boundsSchema,
    lockedThrottledS: boundsSchema,
    violations: boundsSchema,
  },
  GROUP_RULE,
);
export type ExpectationEntry = z.output<typeof expectationSchema>;

type Subject = 'location' | 'connector' | 'any';
const SUBJECTS: Readonly<Record<Measure | 'reason' | 'alarmOpen' | 'alarmClosed', readonly Subject[]>> = {
  effectiveLimitKw: ['location'],
  gridLimitKw: ['location'],
  powerKw: ['location', 'connector', 'any'],
  limitA: ['connector'],
  reason: ['connector'],
  alarmOpen: ['location', 'connector'],
  alarmClosed: ['location', 'connector'],
  energyShare: ['location', 'connector', 'any'],
  energyKwh: ['location', 'connector', 'any'],
  overshootKws: ['location', 'any'],
  startsPerSession: ['location', 'connector', 'any'],
  lockedThrottledS: ['location', 'connector', 'any'],
  violations: ['any'],
};
type MeasureName = keyof typeof SUBJECTS;
const MEASURE_NAMES = Object.keys(SUBJECTS) as MeasureName[];
const OF_THE_RUN: ReadonlySet<string> = new Set(RUN_MEASURES);

/** The measures for which `entry` has a bound. */
export function measuresOf(entry: ExpectationEntry): readonly MeasureName[] {
  return MEASURE_NAMES.filter((name) => entry[name] !== undefined);
}

function subjectOf({ location, connector }: ExpectationEntry): Subject {
  if (connector !== undefined) return 'connector';
  return location === undefined ? 'any' : 'location';
}

const NAMED: Readonly<Record<Subject, string>> = {
  location: 'a location',
  connector: 'a connector',
  any: 'neither location nor connector',
};

/** Problems of the combination of fields in `entry`; their paths are relative to it. */
export function expectationProblems(entry: ExpectationEntry): readonly FieldProblem[] {
  const measures = measuresOf(entry);
  const { at, from, until, location, connector } = entry;
  const isTimed = at !== undefined || from !== undefined || until !== undefined;
  const problems: FieldProblem[] = [];
  if (measures.length === 0) {
    problems.push({ path: [], message: `expects nothing; name one of ${MEASURE_NAMES.join(', ')}` });
  }
  if (at !== undefined && (from !== undefined || until !== undefined)) {
    problems.push({ path: ['at'], message: 'must not stand beside from or until' });
  }
  if (location !== undefined && connector !== undefined) {
    problems.push({ path: ['location'], message: 'must not stand beside connector' });
  }
  for (const name of measures) {
    const subjects = SUBJECTS[name];
    if (!subjects.includes(subjectOf(entry))) {
      const needed = subjects.map((subject) => NAMED[subject]).join(' or ');
      problems.push({
        path: [name],
        message: `is given for ${NAMED[subjectOf(entry)]}; it needs ${needed}`,
      });
    }
    if (isTimed && OF_THE_RUN.has(name)) {
      problems.push({
        path: [name],
        message: 'is counted over the whole run; leave out at, from and until',
      });
    }
  }
  return problems;
}
