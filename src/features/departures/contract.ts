// The session of a connector's car: its declared needs, its energy, and the policy of its location.
import { z } from 'zod';
import { POLICY_NAMES } from '../../../machines/policy/policies.js';
import { NEED_SOURCES } from '../../../machines/policy/session-needs.js';
import { chargingPreferencesSchema } from '../../wire/charging-preferences.js';

export const sessionSchema = z
  .object({
    controllerUuid: z.string(),
    connectorId: z.string(),
    sessionId: z.string().nullable().meta({
      description: 'Session id of the charger; null if it reports none.',
    }),
    deliveredKwh: z.number().meta({ description: 'Energy since the arrival of the car, kWh.' }),
    preferences: chargingPreferencesSchema.meta({
      description: 'The needs that count: of each field the first declaration in the order of `declared`.',
    }),
    declared: z
      .array(z.object({ source: z.enum(NEED_SOURCES), preferences: chargingPreferencesSchema }))
      .meta({ description: 'Declarations of each source, the one that takes precedence first.' }),
  })
  .meta({ id: 'ChargingSession' });
export type SessionView = z.output<typeof sessionSchema>;

/** In the provisioning file. */
export const provisionedPolicySchema = z
  .enum(POLICY_NAMES, `must be one of ${POLICY_NAMES.join(', ')}`)
  .default('equal');
