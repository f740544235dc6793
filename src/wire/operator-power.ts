// Power of a location in answers and events of the extensions, with its estimated part.
import { z } from 'zod';

export const estimatedKwSchema = z.number().nullable();

export const drawnPowerShape = {
  actualKw: z.number(),
  estimatedKw: estimatedKwSchema.meta({
    description:
      'Estimated part of `actualKw`, for silent connectors, at most their entitlements; null if all is measured.',
  }),
};
