// The session of a connector's car: its declared needs, its energy, and the rules of its location.
import { z } from 'zod';
import { type DepartureRule, WEEKDAYS } from '../../../machines/policy/default-needs.js';
import { POLICY_NAMES } from '../../../machines/policy/policies.js';
import { NEED_SOURCES } from '../../../machines/policy/session-needs.js';
import { TIME_ZONE_RULE, TimeZone } from '../../../machines/values/time-zone.js';
import { GROUP_RULE, listSchema, numberSchema, wholeSchema } from '../../provisioning/field-schemas.js';
import {
  chargingPreferencesSchema,
  HIGHEST_PRIORITY,
  isMinimumInNeed,
  LEAST_BATTERY_KWH,
  MINIMUM_RULE,
  MOST_KWH,
  needOfPreferences,
} from '../../wire/charging-preferences.js';
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
    idTag: z.string().nullable().meta({
      description: 'The last identifier that authorized the session; null if the charger reports none.',
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

/** IANA name of the location's zone, in which its departures count. */
export const provisionedTimeZoneSchema = z
  .string(TIME_ZONE_RULE)
  .refine((name) => TimeZone.named(name) !== undefined, TIME_ZONE_RULE);

const DAYS_RULE = `must be a list of weekdays, each once, such as [Mon, Tue]: ${WEEKDAYS.join(', ')}`;
const TIME_RULE = 'must be a time of day from 00:00 to 23:59, such as 06:00';
const TIME_OF_DAY = /^([01]\d|2[0-3]):([0-5]\d)$/;
const MOST_DEPARTURES = 50;
const DEPARTURES_RULE = `must be a list of at most ${MOST_DEPARTURES} departures`;
const ONCE_RULE = 'must have no two departures at one time of one day; leave one out';
const MS_PER_MINUTE = 60_000;

const provisionedDepartureSchema = z
  .strictObject(
    {
      days: z
        .array(z.enum(WEEKDAYS, DAYS_RULE), DAYS_RULE)
        .min(1, DAYS_RULE)
        .refine((days) => new Set(days).size === days.length, DAYS_RULE),
      at: z.string(TIME_RULE).regex(TIME_OF_DAY, TIME_RULE),
      energyNeedKwh: numberSchema(0, MOST_KWH, 'kWh').optional(),
      minimumEnergyKwh: numberSchema(0, MOST_KWH, 'kWh').optional(),
      priority: wholeSchema(0, HIGHEST_PRIORITY).optional(),
      batteryCapacityKwh: numberSchema(LEAST_BATTERY_KWH, MOST_KWH, 'kWh').optional(),
      targetSocPercent: numberSchema(0, 100, '%').optional(),
    },
    GROUP_RULE,
  )
  .refine(isMinimumInNeed, MINIMUM_RULE)
  .transform(({ days, at, ...preferences }): DepartureRule => {
    const [, hours, minutes] = TIME_OF_DAY.exec(at) ?? [];
    const timeOfDayMs = (60 * Number(hours) + Number(minutes)) * MS_PER_MINUTE;
    return { days, timeOfDayMs, need: needOfPreferences(preferences) };
  });

/** In the provisioning file, of a location or a connector: departures of cars that declare none. */
export const provisionedDeparturesSchema = listSchema(provisionedDepartureSchema)
  .max(MOST_DEPARTURES, DEPARTURES_RULE)
  .refine((rules) => {
    const times = rules.flatMap(({ days, timeOfDayMs }) =>
      [...new Set(days)].map((day) => `${day} ${timeOfDayMs}`),
    );
    return new Set(times).size === times.length;
  }, ONCE_RULE);
