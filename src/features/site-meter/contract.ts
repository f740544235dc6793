// A location's meter: its readings, by REST or MQTT, and answers about it.
import { z } from 'zod';
import { METER_COVERS } from '../../../machines/limits/building-load.js';
import { RESERVE_QUANTILE } from '../../../machines/limits/rise-history.js';
import { SITE_METER_STATES, type SiteMeterState } from '../../../machines/limits/site-meter.machine.js';
import { GROUP_RULE, idSchema, numberSchema, secretSchema } from '../../provisioning/field-schemas.js';
import type { SiteTraffic } from '../../wire/asyncapi.js';
import { fromInstant } from '../../wire/instants.js';
import { mustBe } from '../../wire/plain-errors.js';
import { instantSchema, MOST_LIMIT_KW } from '../../wire/rest.js';

const MOST_W = 1_000_000_000;
const MOST_A = 100_000;
const POWER_RULE = `a number from ${-MOST_W} to ${MOST_W}, in W`;
const CURRENT_RULE = `three numbers from ${-MOST_A} to ${MOST_A}, in A`;
const currentSchema = z.number(mustBe(CURRENT_RULE)).min(-MOST_A).max(MOST_A);

export const siteReadingSchema = z
  .object({
    v: z.literal(1, mustBe('1')).optional().meta({ description: 'Version of the message format.' }),
    hb: z
      .number(mustBe('a whole number of at least 0'))
      .int()
      .min(0)
      .max(Number.MAX_SAFE_INTEGER)
      .optional()
      .meta({ description: 'Rises by one with each reading; it distinguishes two readings of one instant.' }),
    at: instantSchema.meta({ description: "Instant of the reading, by the sender's clock." }),
    powerW: z.number(mustBe(POWER_RULE)).min(-MOST_W).max(MOST_W).meta({
      description: 'Power at the meter, W: import is positive, export is negative.',
      example: 23_400,
    }),
    currentA: z
      .tuple([currentSchema, currentSchema, currentSchema], mustBe(CURRENT_RULE))
      .optional()
      .meta({
        description:
          'Current of L1, L2 and L3, A. Without it the building counts as an even load of all phases.',
        example: [31.2, 28.4, 40.1],
      }),
    energyWh: z
      .number(mustBe('a number of at least 0, in Wh'))
      .min(0)
      .max(Number.MAX_SAFE_INTEGER)
      .optional()
      .meta({ description: 'Energy imported so far, Wh.' }),
  })
  .meta({
    examples: [
      { hb: 17, at: '2026-06-01T12:00:00Z', powerW: 23_400, currentA: [31.2, 28.4, 40.1] },
      { at: '2026-06-01T12:00:01Z', powerW: -4100 },
    ],
  })
  .transform(({ v: _version, at, ...reading }) => ({ ...reading, atMs: fromInstant(at) }))
  .meta({ id: 'SiteMeterReading' });
export type SiteReading = z.output<typeof siteReadingSchema>;

/** Over MQTT. */
export const siteReadingTraffic: SiteTraffic<typeof siteReadingSchema> = {
  kind: 'siteMeter',
  title: 'Reading of the meter of a location',
  summary:
    'Sent at least once in each provisioned cadenceS. A reading that is not newer than the last one, or off by more than a minute, is ignored.',
  sender:
    'User name {tenantUuid}/{meterUuid} with the password of the meter; the client id is the meterUuid.',
  schema: siteReadingSchema,
  qos: 0,
  retain: false,
  examples: [
    {
      name: 'phases',
      summary: 'The building and the chargers import 23.4 kW, unevenly.',
      payload: {
        v: 1,
        hb: 17,
        at: '2026-06-01T12:00:00Z',
        powerW: 23_400,
        currentA: [31.2, 28.4, 40.1],
        energyWh: 18_204_500,
      },
    },
    {
      name: 'fedBack',
      summary: '4.1 kW are fed back; a simple meter sends no more fields.',
      payload: { at: '2026-06-01T12:00:01Z', powerW: -4100 },
    },
  ],
};

/** As answers write them. */
export const SITE_METER_STATE_NAMES: Readonly<Record<SiteMeterState, string>> = {
  stale: 'STALE',
  fresh: 'FRESH',
  fading: 'FADING',
  distrusted: 'DISTRUSTED',
};

/** Load of the building and remaining power: in answers, and on the stream after each change. */
export const buildingShape = {
  state: z.enum(SITE_METER_STATES.map((state) => SITE_METER_STATE_NAMES[state])).meta({
    description:
      'FRESH: its last reading counts. FADING: it is late, and the building counts as more and more. STALE: it is silent. DISTRUSTED: its readings are implausible. In the last two the building counts as its provisioned maximum.',
  }),
  buildingKw: z.number().meta({ description: 'Building load, kW: its highest value in the last minute.' }),
  reserveKw: z
    .number()
    .meta({ description: 'Building reserve, kW: power kept free for the building load to rise.' }),
  leavesKw: z.number().meta({ description: 'Power left for the chargers, kW.' }),
};

export const siteMeterSchema = z
  .object({
    locationId: z.string(),
    meterUuid: z.string(),
    covers: z.enum(METER_COVERS),
    ...buildingShape,
    leavesA: z.array(z.number()).nullable().meta({
      description: 'The same of L1, L2 and L3, A; null if the location has no connection in amperes.',
    }),
    explanation: z.string().meta({ description: 'The same as a sentence.' }),
    isReserveLearnt: z.boolean().meta({
      description: `true: the reserve covers ${RESERVE_QUANTILE * 100} % of the building's recorded rises at this time of day. false: too few are recorded, and the provisioned maximum is kept free.`,
    }),
    powerKw: z.number().nullable().meta({ description: 'Its last reading, kW; null before the first.' }),
    currentA: z.array(z.number()).nullable(),
    energyWh: z.number().nullable(),
    lastHeardAt: instantSchema.nullable(),
    cadenceS: z.number().meta({ description: 'Expected interval of its readings, s.' }),
    staleAt: instantSchema
      .nullable()
      .meta({ description: 'From then on the building counts as its maximum, unless a reading arrives.' }),
    connectionKw: z.number().meta({ description: 'Capacity of the connection, kW.' }),
    maxBuildingKw: z.number(),
    reserveBoundsKw: z.array(z.number()).meta({ description: 'Provisioned lowest and highest reserve.' }),
    pvRaisesHeadroom: z.boolean(),
  })
  .meta({ id: 'SiteMeter' });
export type SiteMeterView = z.output<typeof siteMeterSchema>;

const RESERVE_RULE =
  'must be two numbers in kW, the least and the most that is kept free beside the building, such as [2, 10]';

/** In the provisioning file: the meter that measures the building beside the chargers. */
export const provisionedSiteMeterSchema = z.strictObject(
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
