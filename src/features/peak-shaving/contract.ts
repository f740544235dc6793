// The average import that a tariff bills: used part of its window, and remaining power.
import { z } from 'zod';
import { GROUP_RULE, powerSchema } from '../../provisioning/field-schemas.js';
import { instantSchema } from '../../wire/rest.js';

/** On the stream whenever the remaining power changes. */
export const peakShavingShape = {
  windowStartsAt: instantSchema,
  windowEndsAt: instantSchema,
  usedKwh: z.number().meta({
    description: 'Import in this window, kWh; unreported import counts with its highest possible value.',
  }),
  leavesKw: z.number().meta({ description: 'Power left for the chargers until the window ends, kW.' }),
};

export const peakShavingSchema = z
  .object({
    limitKw: z.number().meta({ description: 'Highest average import over a window, kW.' }),
    windowS: z.number().meta({ description: 'Windows begin at whole multiples of this in UTC, s.' }),
    ...peakShavingShape,
    allowedKwh: z.number().meta({ description: 'Highest import in a window, kWh.' }),
    nextLeavesKw: z.number().meta({
      description:
        'Power left for the chargers at the begin of the next window, with the present building load.',
    }),
    explanation: z.string().meta({ description: 'The same as a sentence.' }),
  })
  .meta({ id: 'PeakShaving' });
export type PeakShavingView = z.output<typeof peakShavingSchema>;

const HOUR_S = 3600;
const WINDOW_RULE = 'must be a whole number of seconds from 60 to 3600 that divides an hour, such as 900';

/** In the provisioning file: the average import over the windows of the tariff, which begin with the clock's. */
export const provisionedPeakShavingSchema = z
  .strictObject(
    {
      limitKw: powerSchema(),
      windowS: z
        .number(WINDOW_RULE)
        .int(WINDOW_RULE)
        .min(60, WINDOW_RULE)
        .max(HOUR_S, WINDOW_RULE)
        .refine((windowS) => HOUR_S % windowS === 0, WINDOW_RULE)
        .default(900),
    },
    GROUP_RULE,
  )
  .transform(({ limitKw, windowS }) => ({ limitKw, windowMs: windowS * 1000 }));
