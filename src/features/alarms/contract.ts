// Alarms in answers and on the stream.
import { z } from 'zod';
import { ALARM_KINDS } from '../../../machines/ledger/grant.js';
import { instantSchema } from '../../wire/rest.js';
import { nextCursorSchema, spanShape } from '../../wire/spans.js';

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
  .object({ ...spanShape, alarms: z.array(alarmSchema), nextCursor: nextCursorSchema })
  .meta({ id: 'AlarmList' });
export type AlarmList = z.output<typeof alarmListSchema>;
