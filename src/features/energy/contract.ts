// The energy of connectors over time, in answers.
import { z } from 'zod';
import { toDate } from '../../wire/instants.js';
import { mustBeText } from '../../wire/plain-errors.js';
import { instantSchema } from '../../wire/rest.js';
import { nextCursorSchema, pageQuerySchema } from '../../wire/spans.js';

const RESOLUTIONS = ['quarterHour', 'day', 'month'] as const;

const GROUPS = ['connector', 'location', 'cluster', 'tenant'] as const;
export type Group = (typeof GROUPS)[number];

const EDGE_RULE = 'a date such as 2026-06-01, or with resolution=quarterHour an instant';
/** It counts in the zone of each location. */
const dateSchema = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}$/)
  .refine((text) => !Number.isNaN(Date.parse(text)) && toDate(Date.parse(text)) === text)
  .meta({ format: 'date' });
const edgeSchema = z.union([dateSchema, instantSchema], mustBeText(EDGE_RULE));

const idParameter = z.string().max(200).optional();

export const energyQuerySchema = z.object({
  from: edgeSchema.optional().meta({
    description:
      'First date (inclusive), with `quarterHour` the first instant. Left out: 31 days before `to`; a year for months, a day for quarter-hours.',
  }),
  to: edgeSchema.optional().meta({ description: 'End (exclusive). Left out: with the present period.' }),
  resolution: z
    .enum(RESOLUTIONS, mustBeText(RESOLUTIONS.join(', ')))
    .default('day')
    .meta({ description: 'Length of a period. Days begin at midnight in the time zone of their location.' }),
  groupBy: z
    .enum(GROUPS, mustBeText(GROUPS.join(', ')))
    .default('connector')
    .meta({ description: 'A cluster sums its present members.' }),
  locationId: idParameter.meta({ description: 'Energy at this location alone. Left out: at all.' }),
  controllerUuid: idParameter.meta({ description: 'With `connectorId`: energy of this connector alone.' }),
  connectorId: idParameter.meta({ description: 'A connector of `controllerUuid`.' }),
  ...pageQuerySchema.shape,
});
export type EnergyQuery = z.output<typeof energyQuerySchema>;

const ofGroup = (group: string) =>
  z
    .string()
    .nullable()
    .meta({ description: `Null unless by ${group}.` });

const periodEnergySchema = z
  .object({
    period: z.string().meta({
      description:
        'The day (`2026-06-01`), the month (`2026-06`), or the first instant of the quarter-hour. Periods without energy are left out.',
    }),
    locationId: ofGroup('connector or location'),
    controllerUuid: ofGroup('connector'),
    connectorId: ofGroup('connector'),
    clusterId: ofGroup('cluster'),
    energyKwh: z.number(),
    integratedKwh: z.number().meta({
      description: 'The part of it that is integrated from power; 0 if registers reported all of it.',
    }),
  })
  .meta({ id: 'PeriodEnergy' });
export type PeriodEnergy = z.output<typeof periodEnergySchema>;

export const energyListSchema = z
  .object({
    from: z.string(),
    to: z.string(),
    resolution: z.enum(RESOLUTIONS),
    groupBy: z.enum(GROUPS),
    energy: z.array(periodEnergySchema).meta({ description: 'The oldest period first, then by id.' }),
    nextCursor: nextCursorSchema,
  })
  .meta({ id: 'EnergyList' });
export type EnergyList = z.output<typeof energyListSchema>;
