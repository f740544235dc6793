// Answers about the past for operators: submissions, power, alarms. Extensions of the contract.
import { z } from 'zod';
import { ALARM_KINDS } from '../../machines/ledger/grant.js';
import { GRID_PHASES } from '../../machines/power/fuses.js';
import { instantSchema, prioritySchema } from './rest.js';

// Power of a location in answers and events of the extensions, with its estimated part.
const estimatedKwSchema = z.number().nullable();

export const drawnPowerShape = {
  actualKw: z.number(),
  estimatedKw: estimatedKwSchema.meta({
    description:
      'Estimated part of `actualKw`, for silent connectors, at most their entitlements; null if all is measured.',
  }),
};

const nextCursorSchema = z.string().nullable().meta({ description: 'Null on the last page.' });
const span = { from: instantSchema, to: instantSchema };

export const alarmSchema = z
  .object({
    alarmId: z.string(),
    kind: z.enum(ALARM_KINDS),
    locationId: z.string(),
    controllerUuid: z.string().nullable(),
    connectorId: z.string().nullable(),
    reason: z.string().meta({ description: 'Latest reason of the alarm.' }),
    firstReason: z.string().meta({ description: 'Reason at its begin.' }),
    beganAt: instantSchema,
    endedAt: instantSchema.nullable().meta({ description: 'Null while it lasts.' }),
  })
  .meta({ id: 'Alarm' });
export type AlarmView = z.output<typeof alarmSchema>;

export const alarmListSchema = z
  .object({ ...span, alarms: z.array(alarmSchema), nextCursor: nextCursorSchema })
  .meta({ id: 'AlarmList' });
export type AlarmList = z.output<typeof alarmListSchema>;

const submissionSchema = z
  .object({
    priority: prioritySchema,
    limitKw: z.number(),
    startTime: instantSchema,
    endTime: instantSchema,
    submittedAt: instantSchema,
    supersededAt: instantSchema
      .nullable()
      .meta({ description: 'Instant at which it was replaced or cancelled; null while it holds its slot.' }),
  })
  .meta({ id: 'Submission' });
export type Submission = z.output<typeof submissionSchema>;

const submissions = z
  .array(submissionSchema)
  .meta({ description: 'Submissions whose window meets the span, in the order of their receipt.' });

export const locationHistorySchema = z
  .object({
    locationId: z.string(),
    ...span,
    submissions,
    permanentLimits: z
      .array(z.object({ limitKw: z.number(), setAt: instantSchema }))
      .meta({ description: 'The limit in force at `from`, and every limit set until `to`.' }),
    nextCursor: nextCursorSchema,
  })
  .meta({ id: 'LocationHistory' });
export type LocationHistory = z.output<typeof locationHistorySchema>;

export const connectorHistorySchema = z
  .object({
    controllerUuid: z.string(),
    connectorId: z.string(),
    locationId: z.string(),
    ...span,
    submissions,
    nextCursor: nextCursorSchema,
  })
  .meta({ id: 'ConnectorHistory' });
export type ConnectorHistory = z.output<typeof connectorHistorySchema>;

export const organizationHistorySchema = z
  .object({ tenantUuid: z.string(), ...span, submissions, nextCursor: nextCursorSchema, note: z.string() })
  .meta({ id: 'OrganizationHistory' });
export type OrganizationHistory = z.output<typeof organizationHistorySchema>;

export const locationPowerSchema = z
  .object({
    locationId: z.string(),
    ...span,
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
        estimatedKw: estimatedKwSchema.meta({
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
