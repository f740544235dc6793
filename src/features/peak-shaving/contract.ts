// The average import that a tariff bills: used part of its window, and remaining power.
import { z } from 'zod';
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
