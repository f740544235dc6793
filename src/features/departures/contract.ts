// The session of a connector's car: its declared needs, its energy, and the policy of its location.
import { z } from 'zod';
import { POLICY_NAMES } from '../../../machines/policy/policies.js';
import { NEED_SOURCES } from '../../../machines/policy/session-needs.js';
import { chargingPreferencesSchema } from '../../wire/charging-preferences.js';
import { instantSchema } from '../../wire/rest.js';

const forecastShape = {
  departureTime: instantSchema,
  energyNeedKwh: z.number().meta({ description: 'Energy that the car needs from its arrival on, kWh.' }),
  deliveredKwh: z.number().meta({ description: 'Energy since the arrival of the car, kWh.' }),
  readyAt: instantSchema.nullable().meta({
    description: 'Predicted instant at which the car has its energy; null if it leaves before.',
  }),
  missingKwh: z.number().meta({ description: 'Predicted energy that is missing at its departure, kWh.' }),
  isAtRisk: z.boolean().meta({ description: 'The alarm DEPARTURE_AT_RISK is due.' }),
  explanation: z.string().meta({ description: 'The forecast as a sentence, with a way out.' }),
};

/** Forecast for a car with a declared departure and need. */
export const departureForecastSchema = z
  .object({ controllerUuid: z.string(), connectorId: z.string(), ...forecastShape })
  .meta({ id: 'DepartureForecast' });
export type DepartureForecast = z.output<typeof departureForecastSchema>;

/** In force from now on, until the last declared departure. */
export const departurePlanSchema = z
  .object({
    locationId: z.string(),
    policy: z.enum(POLICY_NAMES),
    at: instantSchema.meta({ description: 'The plan is made from the state at this instant.' }),
    steps: z
      .array(
        z.object({
          startTime: instantSchema,
          endTime: instantSchema,
          limitKw: z.number().meta({ description: 'Limit in force, kW, by present information.' }),
          otherKw: z.number().meta({
            description: 'Power for cars without a declared departure, kW; they count to the end.',
          }),
        }),
      )
      .meta({ description: 'Without gaps; empty if no car has declared a departure and a need.' }),
    departures: z
      .array(
        departureForecastSchema.extend({
          powerKw: z.array(z.number()).meta({ description: 'Planned power in each step, kW.' }),
        }),
      )
      .meta({ description: 'The earliest departure first.' }),
  })
  .meta({ id: 'DeparturePlan' });
export type DeparturePlanView = z.output<typeof departurePlanSchema>;

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
    forecast: z
      .object(forecastShape)
      .nullable()
      .meta({ description: 'Null without a future departure and a need.' }),
  })
  .meta({ id: 'ChargingSession' });
export type SessionView = z.output<typeof sessionSchema>;

/** In the provisioning file. */
export const provisionedPolicySchema = z
  .enum(POLICY_NAMES, `must be one of ${POLICY_NAMES.join(', ')}`)
  .default('equal');
