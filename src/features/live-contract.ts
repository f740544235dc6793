// The answer of `GET …/live`: the shape of the location itself, and of each feature with a field in it.
import { z } from 'zod';
import { alarmSchema } from './alarms/contract.js';
import { departureForecastSchema } from './departures/contract.js';
import { divisionShape, limitShape } from './live/contract.js';
import { operatorLimitSchema } from './operator-limit/contract.js';
import { peakShavingSchema } from './peak-shaving/contract.js';
import { siteMeterSchema } from './site-meter/contract.js';

export const locationLiveSchema = z
  .object({
    ...limitShape,
    operatorLimit: operatorLimitSchema
      .nullable()
      .meta({ description: "The grid operator's limit; null if no operator may limit the location." }),
    siteMeter: siteMeterSchema.nullable().meta({
      description: 'Building load, and power left for chargers; null if the location has no meter.',
    }),
    peakShaving: peakShavingSchema.nullable().meta({
      description: 'Use of the average that the tariff bills, and the rest; null without peak shaving.',
    }),
    ...divisionShape,
    departures: z.array(departureForecastSchema).meta({
      description:
        'Forecast for each car with a declared departure, at most a minute old, the earliest first.',
    }),
    alarms: z.array(alarmSchema).meta({ description: 'Open alarms.' }),
  })
  .meta({ id: 'LocationLive' });
export type LocationLive = z.output<typeof locationLiveSchema>;
