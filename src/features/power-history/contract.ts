// The measured power of a location over time.
import { z } from 'zod';
import { GRID_PHASES } from '../../../machines/power/fuses.js';
import { mustBeText } from '../../wire/plain-errors.js';
import { instantSchema } from '../../wire/rest.js';
import { digits, nextCursorSchema, pageQuerySchema, spanParameters, spanShape } from '../../wire/spans.js';

export const locationPowerSchema = z
  .object({
    locationId: z.string(),
    ...spanShape,
    stepSeconds: z.number().int(),
    feeder: z
      .string()
      .nullable()
      .meta({ description: 'Feeder of `phases`; null if they are of all chargers.' }),
    points: z.array(
      z.object({
        at: instantSchema,
        meanKw: z.number(),
        maxKw: z.number(),
        estimatedKw: z.number().nullable().meta({
          description:
            'Estimated part of `meanKw`, because connectors were silent; null if all was measured.',
        }),
        limitKw: z.number().meta({ description: 'The lowest grid limit in force during it.' }),
        meanLimitKw: z.number().meta({
          description: 'The mean of the grid limit in force during it: compare `meanKw` with this one.',
        }),
        phases: z
          .array(
            z.object({
              phase: z.enum(GRID_PHASES),
              meanA: z.number(),
              maxA: z.number().meta({ description: 'Highest value in the step.' }),
            }),
          )
          .meta({
            description:
              'Current of the chargers on each phase of the grid, or below `feeder`, A; empty if the location had no such fuse.',
          }),
        building: z
          .object({
            meanKw: z.number(),
            maxKw: z.number().meta({ description: 'Highest value in the step.' }),
            meanReserveKw: z.number().meta({ description: 'Power kept free beside it for it to rise.' }),
          })
          .nullable()
          .meta({
            description: 'Building load in that step; null if the location had no site meter.',
          }),
      }),
    ),
  })
  .meta({ id: 'LocationPower' });
export type LocationPower = z.output<typeof locationPowerSchema>;

const DAY_S = 86_400;

const stepParameter = {
  step: digits(
    z
      .number(mustBeText(`a multiple of 60 from 60 to ${DAY_S}`))
      .int()
      .min(60, { abort: true })
      .max(DAY_S, { abort: true })
      .multipleOf(60),
  )
    .default(60)
    .meta({ description: 'Seconds that one point covers: whole minutes.' }),
};

export const powerQuerySchema = z.object({
  ...spanParameters,
  ...stepParameter,
  feeder: z.string().optional().meta({
    description:
      'Name of a feeder of the location: `phases` are the currents through it. Left out: those of all chargers.',
  }),
});

const connectorPowerPointSchema = z.object({
  at: instantSchema,
  meanKw: z.number(),
  maxKw: z.number().meta({ description: 'Highest mean of a minute in the step.' }),
  limitKw: z
    .number()
    .nullable()
    .meta({ description: 'Mean of the limit sent to it during the step; null if none was in force.' }),
});
export type ConnectorPowerPoint = z.output<typeof connectorPowerPointSchema>;

export const connectorPowerSchema = z
  .object({
    controllerUuid: z.string(),
    connectorId: z.string(),
    locationId: z.string(),
    ...spanShape,
    stepSeconds: z.number().int(),
    points: z.array(connectorPowerPointSchema).meta({
      description: 'The oldest first. Steps in which the connector was silent are left out.',
    }),
    nextCursor: nextCursorSchema,
  })
  .meta({ id: 'ConnectorPower' });
export type ConnectorPower = z.output<typeof connectorPowerSchema>;

export const connectorPowerQuerySchema = z.object({
  ...spanParameters,
  ...stepParameter,
  ...pageQuerySchema.shape,
});
