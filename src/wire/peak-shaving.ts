// The billed average import: used part of its window and remaining power, in answers and on the stream.
import { z } from 'zod';
import { instantSchema } from './rest.js';

/** On the stream whenever the remaining power changes. */
export const peakShavingShape = {
  windowStartsAt: instantSchema,
  windowEndsAt: instantSchema,
  usedKwh: z.number().meta({
    description:
      'What was imported in this window, kWh: what nobody has reported yet counts with the most that it can be.',
  }),
  leavesKw: z
    .number()
    .meta({ description: 'What the average leaves for the chargers until the window ends, kW.' }),
};

export const peakShavingSchema = z
  .object({
    limitKw: z.number().meta({ description: 'What the import may be on average over a window, kW.' }),
    windowS: z.number().meta({ description: 'Windows begin at whole multiples of this in UTC, s.' }),
    ...peakShavingShape,
    allowedKwh: z.number().meta({ description: 'What may be imported in a window, kWh.' }),
    nextLeavesKw: z
      .number()
      .meta({ description: 'What the window after this one leaves when it begins, as the building is now.' }),
    explanation: z.string().meta({ description: 'How that follows, as a sentence.' }),
  })
  .meta({ id: 'PeakShaving' });
export type PeakShavingView = z.output<typeof peakShavingSchema>;
