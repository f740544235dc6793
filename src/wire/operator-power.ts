// Power of a location in answers and events of the extensions, with its estimated part.
import { z } from 'zod';

export const estimatedKwSchema = z.number().nullable();

export const drawnPowerShape = {
  actualKw: z.number(),
  estimatedKw: estimatedKwSchema.meta({
    description:
      'How much of `actualKw` silent connectors count with, at most what they may still draw; null where all is measured.',
  }),
};
