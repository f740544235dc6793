// Ended charging sessions in answers.
import { z } from 'zod';
import { LIMIT_REASONS } from '../../../machines/ledger/grant.js';
import { NEED_SOURCES } from '../../../machines/policy/session-needs.js';
import { chargingPreferencesSchema } from '../../wire/charging-preferences.js';
import { instantSchema } from '../../wire/rest.js';
import { nextCursorSchema, spanPageQuerySchema, spanShape } from '../../wire/spans.js';

export const sessionsQuerySchema = spanPageQuerySchema.extend({
  locationId: z
    .string()
    .max(200)
    .optional()
    .meta({ description: 'Sessions of this location alone. Left out: of all locations.' }),
  controllerUuid: z
    .string()
    .max(200)
    .optional()
    .meta({ description: 'With `connectorId`: sessions of this connector alone.' }),
  connectorId: z.string().max(200).optional().meta({ description: 'A connector of `controllerUuid`.' }),
});
export type SessionsQuery = z.output<typeof sessionsQuerySchema>;

const endedSessionSchema = z
  .object({
    locationId: z.string(),
    controllerUuid: z.string(),
    connectorId: z.string(),
    sessionId: z.string().nullable().meta({
      description: 'Session id of the charger; null if it reports none.',
    }),
    idTag: z.string().nullable().meta({
      description: 'The last identifier that authorized the session; null if the charger reports none.',
    }),
    startTime: instantSchema.meta({ description: 'The first report with the car.' }),
    endTime: instantSchema.meta({ description: 'The first report without it, or with the next car.' }),
    energyKwh: z.number(),
    energySource: z.enum(['register', 'power']).meta({
      description: '`register`: all energy is from the register; `power`: some is integrated from power.',
    }),
    chargingMinutes: z.number().nullable().meta({
      description: 'Time in which the car drew power; null in sessions from before it was counted.',
    }),
    limited: z.array(z.object({ reason: z.enum(LIMIT_REASONS), minutes: z.number() })).meta({
      description:
        'Time in which the car got less than it could use, by the reason of its limit, the longest first.',
    }),
    peakKw: z.number().meta({ description: 'The highest reported power, kW.' }),
    preferences: chargingPreferencesSchema.meta({ description: 'The needs that counted at its end.' }),
    declaredBy: z.array(z.enum(NEED_SOURCES)).meta({
      description: 'Sources that had declared something, the one that takes precedence first.',
    }),
    departure: z
      .object({
        departureTime: instantSchema,
        energyNeedKwh: z.number(),
        missingKwh: z.number().meta({ description: 'Energy that was missing when the car left, kWh.' }),
        isKept: z.boolean().meta({
          description: 'The car had its need, but for 5 % of it or 0.5 kWh, whichever is more.',
        }),
      })
      .nullable()
      .meta({ description: 'Null without a declared departure and a need.' }),
  })
  .meta({ id: 'EndedSession' });
export type EndedSessionView = z.output<typeof endedSessionSchema>;

export const sessionListSchema = z
  .object({ ...spanShape, sessions: z.array(endedSessionSchema), nextCursor: nextCursorSchema })
  .meta({ id: 'SessionList' });
export type SessionList = z.output<typeof sessionListSchema>;
