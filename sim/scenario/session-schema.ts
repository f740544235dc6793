// Schema of the sessions in a scenario (recorded, drawn or listed) and of the classes of cars.
import { z } from 'zod';
import type { EpochMs } from '../../machines/values/time.js';
import { TIME_ZONE_RULE, TimeZone } from '../../machines/values/time-zone.js';
import { GROUP_RULE, listSchema, numberSchema, textSchema } from '../../src/provisioning/field-schemas.js';
import {
  durationRangeSchema,
  durationSchema,
  INSTANT_RULE,
  instantsOf,
  momentSchema,
  numberRangeSchema,
  parsedSchema,
  parseWrittenTime,
} from './moment.js';

/** Distribution of arrivals over the day, as weights of its 24 hours by the clock of the site. */
const DAY_SHAPES = {
  flat: Array.from({ length: 24 }, () => 1),
  /** Vans that return in the afternoon and stay overnight. */
  depot: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 2, 3, 6, 10, 12, 8, 4, 2, 1, 0, 0],
  /** Employees who arrive for work. */
  workplace: [0, 0, 0, 0, 0, 1, 4, 10, 12, 6, 3, 2, 2, 2, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0],
  /** Residents who come home. */
  residential: [2, 1, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 3, 4, 7, 10, 11, 9, 6, 5, 4, 3],
  /** A public car park in a town. */
  public: [1, 0, 0, 0, 0, 1, 2, 4, 6, 8, 9, 9, 10, 9, 8, 8, 9, 10, 9, 7, 5, 4, 3, 2],
} as const satisfies Readonly<Record<string, readonly number[]>>;
type DayShape = keyof typeof DAY_SHAPES;

const CONNECTOR_RULE =
  'must be text such as charger-1/1: the controllerUuid and the connectorId of a connector';
const SHAPES = Object.keys(DAY_SHAPES) as [DayShape, ...DayShape[]];
const SHAPE_RULE = `must be one of ${SHAPES.join(', ')}, or 24 weights, one for each hour from 0:00 on`;
const ENERGY_RULE = 'must be a number greater than 0 and at most 1000, in kWh';
const NO_OFFSET_RULE = `${INSTANT_RULE}; without an offset from UTC, timeZone must name a zone`;
/** Every car follows a new offer within 5 s; its reaction may take 2 s of them. */
const SLOWEST_REACTION_MS = 2000;

export const connectorKeySchema = z.string(CONNECTOR_RULE).regex(/^[^/]+\/[^/]+$/, CONNECTOR_RULE);

const energySchema = z.number(ENERGY_RULE).gt(0, ENERGY_RULE).max(1000, ENERGY_RULE);

export const writtenTimeSchema = parsedSchema(parseWrittenTime, INSTANT_RULE);
export const timeZoneSchema = parsedSchema((text) => TimeZone.named(text), TIME_ZONE_RULE);

/** Start of the recording. A local time without a time zone adds an issue to the field `from`. */
export function fromMsOf(
  from: z.output<typeof writtenTimeSchema> | undefined,
  timeZone: TimeZone | undefined,
  context: z.RefinementCtx,
): EpochMs | undefined {
  const instants = from && instantsOf(from, timeZone);
  if (from !== undefined && instants === undefined)
    context.issues.push({ code: 'custom', path: ['from'], message: NO_OFFSET_RULE, input: from });
  return instants?.[0];
}

const stationsSchema = z.union(
  [z.literal('inOrder'), z.record(z.string(), connectorKeySchema)],
  'must be inOrder, or a group of fields such as CA-315: charger-1/1',
);

const csvSchema = z
  .strictObject(
    {
      file: textSchema(1000),
      from: writtenTimeSchema.optional(),
      energy: z.enum(['requested', 'delivered'], 'must be requested or delivered').default('requested'),
      timeZone: timeZoneSchema.optional(),
      stations: stationsSchema.default('inOrder'),
    },
    GROUP_RULE,
  )
  .transform(({ from, ...csv }, context) => ({ ...csv, fromMs: fromMsOf(from, csv.timeZone, context) }));

const generateSchema = z.strictObject(
  {
    perDay: numberSchema(0, 200, 'cars a day and connector'),
    shape: z
      .union([z.enum(SHAPES), z.array(z.number().min(0).max(1e6)).length(24)], SHAPE_RULE)
      .transform((shape): readonly number[] => (typeof shape === 'string' ? DAY_SHAPES[shape] : shape))
      .refine((weights) => weights.some((weight) => weight > 0), SHAPE_RULE)
      .default(DAY_SHAPES.flat),
    energyKwh: numberRangeSchema(0.1, 1000, 'kWh'),
    stay: durationRangeSchema(60_000),
  },
  GROUP_RULE,
);

const visitSchema = z.strictObject(
  {
    connector: connectorKeySchema,
    arrives: momentSchema,
    leaves: momentSchema.optional(),
    energyKwh: energySchema,
    vehicle: textSchema(100).optional(),
  },
  GROUP_RULE,
);
export type VisitEntry = z.output<typeof visitSchema>;

export const sessionsSchema = z
  .strictObject(
    {
      csv: csvSchema.optional(),
      generate: generateSchema.optional(),
      visits: listSchema(visitSchema).optional(),
    },
    GROUP_RULE,
  )
  .refine((ways) => Object.values(ways).filter((way) => way !== undefined).length === 1, {
    error: 'must have just one of csv, generate and visits',
  })
  .default({ visits: [] });
export type SessionsEntry = z.output<typeof sessionsSchema>;

/** Declared departures and needs; an error is drawn evenly, in both directions. */
export const departuresSchema = z
  .strictObject(
    {
      declared: numberSchema(0, 1, 'parts of the sessions').default(1),
      timeError: durationSchema(0).default(0),
      needError: numberSchema(0, 1, 'parts of the need').default(0),
      minimumKwh: numberSchema(0, 1000, 'kWh').default(0),
    },
    GROUP_RULE,
  )
  .optional();
export type DeparturesEntry = z.output<typeof departuresSchema>;

export const vehicleSchema = z
  .strictObject(
    {
      name: textSchema(100),
      share: numberSchema(0, 1e6, 'parts of all').default(1),
      maxKw: numberSchema(0.1, 1000, 'kW'),
      phases: z.literal([1, 2, 3], 'must be 1, 2 or 3').default(3),
      taper: z
        .union([z.literal('none'), z.number().min(0).max(1)], 'must be none, or a number from 0 to 1')
        .transform((taper) => (taper === 'none' ? 1 : taper))
        .optional(),
      reaction: durationRangeSchema(0, SLOWEST_REACTION_MS).optional(),
      stubborn: numberSchema(0, 1, 'parts of the cars of this class').optional(),
      ideal: z.boolean('must be true or false').default(false),
    },
    GROUP_RULE,
  )
  .refine(
    ({ ideal, taper, reaction, stubborn }) =>
      !ideal || [taper, reaction, stubborn].every((field) => field === undefined),
    {
      path: ['ideal'],
      error: 'must not stand beside taper, reaction or stubborn, which an ideal car lacks',
    },
  );
export type VehicleEntry = z.output<typeof vehicleSchema>;
