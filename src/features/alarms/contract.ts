// Alarms in answers and on the stream, their acknowledgement, and their mutes.
import { z } from 'zod';
import { ALARM_KINDS } from '../../../machines/ledger/grant.js';
import { mustBeText } from '../../wire/plain-errors.js';
import { instantSchema, textSchema } from '../../wire/rest.js';
import { nextCursorSchema, spanShape } from '../../wire/spans.js';

const LONGEST_NOTE = 500;

const acknowledgementSchema = z
  .object({ at: instantSchema, by: z.string(), note: z.string().nullable() })
  .meta({ id: 'AlarmAcknowledgement' });

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
    acknowledgement: acknowledgementSchema
      .nullable()
      .meta({ description: 'The last one by an operator; null before.' }),
    mutedUntil: instantSchema
      .nullable()
      .meta({ description: 'End of the mute that covers the open alarm; null without one.' }),
    isWithheld: z.boolean().meta({
      description: 'It began under a mute that has not ended: webhooks and mails do not have it.',
    }),
  })
  .meta({ id: 'Alarm' });
export type AlarmView = z.output<typeof alarmSchema>;

export const alarmListSchema = z
  .object({ ...spanShape, alarms: z.array(alarmSchema), nextCursor: nextCursorSchema })
  .meta({ id: 'AlarmList' });
export type AlarmList = z.output<typeof alarmListSchema>;

const noteSchema = textSchema(LONGEST_NOTE).nullish().meta({ description: 'For other operators.' });

export const acknowledgeRequestSchema = z
  .object({ note: noteSchema })
  .meta({ id: 'AcknowledgeAlarmRequest', examples: [{}, { note: 'The electrician comes at noon.' }] });

export const muteRequestSchema = z
  .object({
    kind: z.enum(ALARM_KINDS, mustBeText(`one of ${ALARM_KINDS.join(', ')}`)),
    controllerUuid: z.string().nullish().meta({
      description: 'With `connectorId`: only alarms of this connector. Left out: the whole location.',
    }),
    connectorId: z.string().nullish(),
    until: instantSchema.meta({ description: 'In the future, at most 366 days ahead.' }),
    note: noteSchema,
  })
  .meta({
    id: 'MuteAlarmsRequest',
    examples: [{ kind: 'OFFLINE', until: '2026-06-01T17:00:00Z', note: 'Works on the network.' }],
  });

export const muteSchema = z
  .object({
    muteId: z.string(),
    kind: z.enum(ALARM_KINDS),
    locationId: z.string(),
    controllerUuid: z.string().nullable().meta({ description: 'Null for the whole location.' }),
    connectorId: z.string().nullable(),
    until: instantSchema,
    note: z.string().nullable(),
    mutedAt: instantSchema,
    mutedBy: z.string().meta({ description: 'The credential.' }),
  })
  .meta({ id: 'AlarmMute' });
export type MuteView = z.output<typeof muteSchema>;

export const muteListSchema = z
  .object({ locationId: z.string(), mutes: z.array(muteSchema) })
  .meta({ id: 'AlarmMuteList' });
export type MuteList = z.output<typeof muteListSchema>;

export const muteDeletedSchema = z
  .object({ muteId: z.string(), deleted: z.literal(true) })
  .meta({ id: 'AlarmMuteDeleted' });
