// The parts of a location beside its chargers in the provisioning file:
// fuses, grid operator, site meter, and peak shaving.
import { z } from 'zod';
import { METER_COVERS } from '../../machines/limits/building-load.js';
import type { LimitRules } from '../../machines/limits/limit-rules.js';
import { MOST_LIMIT_KW } from '../wire/rest.js';
import {
  FEEDER_RULE,
  GROUP_RULE,
  idSchema,
  numberSchema,
  phaseCurrentsSchema,
  powerSchema,
  secretSchema,
  wholeSchema,
} from './field-schemas.js';

// EEBUS LPC-022.
const FAILSAFE_LEAST_S = 2 * 3600;
const FAILSAFE_MOST_S = 24 * 3600;

export const connectionSchema = z.strictObject(
  {
    currentA: phaseCurrentsSchema(),
    voltageV: numberSchema(50, 1000, 'V between phase and neutral').default(230),
  },
  GROUP_RULE,
);

export const feederSchema = z.strictObject(
  {
    name: idSchema<string>(),
    currentA: phaseCurrentsSchema(),
    parent: z.string(FEEDER_RULE).optional(),
  },
  GROUP_RULE,
);

/** The grid operator's side of a location; silence of two heartbeats means that it is lost (EEBUS LPC-911: 120 s). */
export const operatorSchema = z
  .strictObject(
    {
      operatorUuid: idSchema<string>(),
      mqttPassword: secretSchema().optional(),
      failsafeKw: numberSchema(0, MOST_LIMIT_KW, 'kW').optional(),
      failsafeMinS: wholeSchema(FAILSAFE_LEAST_S, FAILSAFE_MOST_S).default(FAILSAFE_LEAST_S),
      heartbeatS: wholeSchema(1, 3600).default(60),
    },
    GROUP_RULE,
  )
  .transform(({ failsafeMinS, heartbeatS, ...operator }) => ({
    ...operator,
    failsafeMinMs: failsafeMinS * 1000,
    missingAfterMs: 2 * heartbeatS * 1000,
  }));

const RESERVE_RULE =
  'must be two numbers in kW, the least and the most that is kept free beside the building, such as [2, 10]';

/** The meter that measures the building beside the chargers. */
export const siteMeterSchema = z.strictObject(
  {
    meterUuid: idSchema<string>(),
    mqttPassword: secretSchema().optional(),
    covers: z.enum(METER_COVERS, `must be ${METER_COVERS.join(' or ')}`).default('connection'),
    maxBuildingKw: numberSchema(0, MOST_LIMIT_KW, 'kW'),
    reserveKw: z
      .tuple([numberSchema(0, MOST_LIMIT_KW, 'kW'), numberSchema(0, MOST_LIMIT_KW, 'kW')], RESERVE_RULE)
      .refine(([least, most]) => least <= most, RESERVE_RULE),
    pvRaisesHeadroom: z.boolean('must be true or false').default(false),
  },
  GROUP_RULE,
);

const HOUR_S = 3600;
const WINDOW_RULE = 'must be a whole number of seconds from 60 to 3600 that divides an hour, such as 900';

/** The average import over the windows of the tariff, which begin with the clock's. */
const peakShavingSchema = z
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

/** Fields of a location with the rules of its further limits. */
export const limitRuleFields = {
  peakShaving: peakShavingSchema.optional(),
} satisfies Readonly<Record<keyof LimitRules, z.ZodType>>;

/** Joins these fields of a location. */
export function withLimitRules<L extends LimitRules>({ peakShaving, ...location }: L) {
  const limitRules: Required<LimitRules> = { peakShaving };
  return { ...location, limitRules };
}

export type SiteMeterEntry = z.output<typeof siteMeterSchema>;
export type OperatorEntry = z.output<typeof operatorSchema>;
