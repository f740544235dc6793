// The provisioning file's shape: what an operator may write, with bounds and defaults. Each error says what must be.
import { z } from 'zod';
import { METER_COVERS } from '../../machines/limits/building-load.js';
import { ROTATIONS } from '../../machines/power/fuses.js';
import type { LeaseTiming } from '../../machines/power/grant.js';
import type { ConnectorId, ControllerUuid, LocationId, TenantUuid } from '../../machines/values/ids.js';
import { MINIMUM_CURRENT_A, tenthsOfDcW } from '../../machines/values/units.js';
import { ENERGY_MANAGEMENT, SCOPES, USUAL_SCOPES } from '../ports/records.js';
import { CHOSEN_SECRET_RULE, isChosenSecretFit, parseApiKey } from '../secrets.js';
import { fromInstant } from '../wire/instants.js';
import { instantSchema, MOST_LIMIT_KW } from '../wire/rest.js';
import {
  dcPowerSchema,
  efficiencySchema,
  GROUP_RULE,
  idSchema,
  listSchema,
  numberSchema,
  phaseCurrentsSchema,
  powerSchema,
  secretSchema,
  textSchema,
  wholeSchema,
} from './field-schemas.js';

const KEY_RULE = 'must be hr_<8 characters>_<16 to 128 characters>, all of A-Z a-z 0-9';
const KEY_SECRET_RULE = `after hr_<8 characters>_ it ${CHOSEN_SECRET_RULE}; leave the key out to have one made`;
const STATUS_RULE = 'must be ACTIVE or INACTIVE';
const FAILSAFE_RULE = `must be 0, or from ${MINIMUM_CURRENT_A} up to maxCurrentA, in A per phase`;

// EEBUS LPC-022.
const FAILSAFE_LEAST_S = 2 * 3600;
const FAILSAFE_MOST_S = 24 * 3600;

const statusSchema = z.enum(['ACTIVE', 'INACTIVE'], STATUS_RULE).default('ACTIVE');
const scopesSchema = listSchema(z.enum(SCOPES, `must be one of ${SCOPES.join(', ')}`)).default([
  ...USUAL_SCOPES,
]);

function isKeyFit(text: string): boolean {
  const key = parseApiKey(text);
  return key === undefined || isChosenSecretFit(key.secret);
}

const apiKeySchema = z.strictObject(
  {
    key: z
      .string(KEY_RULE)
      .refine((text) => parseApiKey(text) !== undefined, KEY_RULE)
      .refine(isKeyFit, KEY_SECRET_RULE)
      .optional(),
    scopes: scopesSchema,
    expiresAt: instantSchema.transform(fromInstant).optional(),
  },
  GROUP_RULE,
);

const clientSchema = z.strictObject(
  { clientId: idSchema<string>(), clientSecret: secretSchema().optional(), scopes: scopesSchema },
  GROUP_RULE,
);

/** What a connector can do, V between phase and neutral and A per phase. */
export const ratingFields = {
  phases: z.literal([1, 3], 'must be 1 or 3'),
  voltageV: numberSchema(50, 1000, 'V between phase and neutral').default(230),
  maxCurrentA: numberSchema(MINIMUM_CURRENT_A, 1000, 'A per phase'),
  failsafeA: z
    .number(FAILSAFE_RULE)
    .refine((currentA) => currentA === 0 || currentA >= MINIMUM_CURRENT_A, FAILSAFE_RULE)
    .default(MINIMUM_CURRENT_A),
};

const FEEDER_RULE = 'must be the name of one feeder: what hangs on it hangs on those above it too';
const ROTATION_RULE =
  'must be RST, RTS, SRT, STR, TRS or TSR with three phases, R, S or T with one; leave it out where it is not known';

const POWER_TYPE_RULE = 'must be AC or DC; left out it is AC';
const connectionSchema = z.strictObject(
  {
    currentA: phaseCurrentsSchema(),
    voltageV: numberSchema(50, 1000, 'V between phase and neutral').default(230),
  },
  GROUP_RULE,
);

const feederSchema = z.strictObject(
  {
    name: idSchema<string>(),
    currentA: phaseCurrentsSchema(),
    parent: z.string(FEEDER_RULE).optional(),
  },
  GROUP_RULE,
);

/** Who may pause a connector, and when: of AC and DC alike. */
const pauseFields = {
  neverPause: z.boolean('must be true or false').default(false),
  operatorMayPause: z.boolean('must be true or false').default(false),
};

const acConnectorSchema = z.strictObject(
  {
    connectorId: idSchema<ConnectorId>(),
    powerType: z.literal('AC').optional(),
    ...ratingFields,
    rotation: z.enum(ROTATIONS, ROTATION_RULE).optional(),
    ...pauseFields,
    status: statusSchema,
  },
  GROUP_RULE,
);

/** A DC connector loads all phases alike and has no 6 A floor: what it can do is said in kW at the car. */
const dcConnectorSchema = z.strictObject(
  {
    connectorId: idSchema<ConnectorId>(),
    powerType: z.literal('DC'),
    voltageV: ratingFields.voltageV,
    maxPowerKw: dcPowerSchema(0.1),
    minPowerKw: dcPowerSchema(0).default(0),
    efficiency: efficiencySchema(),
    failsafeKw: dcPowerSchema(0).default(0),
    ...pauseFields,
    status: statusSchema,
  },
  GROUP_RULE,
);

/** Of DC connectors, the current that they take from each phase is what everything else counts with. */
const connectorSchema = z
  .discriminatedUnion('powerType', [acConnectorSchema, dcConnectorSchema], {
    error: ({ code }) => (code === 'invalid_union' ? POWER_TYPE_RULE : GROUP_RULE),
  })
  .transform((connector) => {
    if (connector.powerType !== 'DC') {
      const { powerType: _, ...rating } = connector;
      return { ...rating, dc: null };
    }
    const { powerType: _, maxPowerKw, minPowerKw, efficiency, failsafeKw, ...common } = connector;
    const { voltageV } = common;
    const dc = { maxPowerKw, minPowerKw, efficiency };
    return {
      ...common,
      phases: 3 as const,
      maxCurrentA: tenthsOfDcW(1000 * maxPowerKw, { voltageV, dc }) / 10,
      failsafeA: tenthsOfDcW(1000 * failsafeKw, { voltageV, dc }) / 10,
      rotation: undefined,
      dc,
    };
  });

/** Of a charger, or of all of a location that have none of their own: both or neither (`timingProblems`). */
const timingFields = {
  heartbeatS: wholeSchema(1, 3_600).optional(),
  leaseTtlS: wholeSchema(3, 86_400).optional(),
};

function timingOf({
  heartbeatS,
  leaseTtlS,
}: {
  heartbeatS?: number | undefined;
  leaseTtlS?: number | undefined;
}): LeaseTiming | undefined {
  if (heartbeatS === undefined || leaseTtlS === undefined) return undefined;
  return { heartbeatMs: 1000 * heartbeatS, ttlMs: 1000 * leaseTtlS };
}

const chargerSchema = z
  .strictObject(
    {
      controllerUuid: idSchema<ControllerUuid>(),
      mqttPassword: secretSchema().optional(),
      feeder: z.string(FEEDER_RULE).optional(),
      ...timingFields,
      connectors: listSchema(connectorSchema).min(1, 'must name at least one connector'),
    },
    GROUP_RULE,
  )
  .transform(({ heartbeatS, leaseTtlS, ...charger }) =>
    withTiming(charger, timingOf({ heartbeatS, leaseTtlS })),
  );

/** @param timing left out of the result where there is none */
function withTiming<T extends object>(
  entry: T,
  timing: LeaseTiming | undefined,
): T & { timing?: LeaseTiming } {
  return timing === undefined ? entry : { ...entry, timing };
}

/** The grid operator's side of a location; silence of two heartbeats means that it is lost (EEBUS LPC-911: 120 s). */
const operatorSchema = z
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

/** The meter that tells what the building beside the chargers takes. */
const siteMeterSchema = z.strictObject(
  {
    meterUuid: idSchema<string>(),
    mqttPassword: secretSchema().optional(),
    covers: z.enum(METER_COVERS, `must be ${METER_COVERS.join(' or ')}`).default('connection'),
    maxBuildingKw: numberSchema(0, MOST_LIMIT_KW, 'kW'),
    reserveKw: z
      .tuple([z.number().min(0).max(MOST_LIMIT_KW), z.number().min(0).max(MOST_LIMIT_KW)], RESERVE_RULE)
      .refine(([least, most]) => least <= most, RESERVE_RULE),
    pvRaisesHeadroom: z.boolean('must be true or false').default(false),
  },
  GROUP_RULE,
);

const HOUR_S = 3600;
const WINDOW_RULE = 'must be a whole number of seconds from 60 to 3600 that divides an hour, such as 900';

/** The average import that the tariff bills, over windows that begin with the clock's. */
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

const locationSchema = z
  .strictObject(
    {
      locationId: idSchema<LocationId>(),
      name: textSchema(200),
      status: statusSchema,
      permanentLimitKw: powerSchema(),
      gridLimitKw: powerSchema().optional(),
      operator: operatorSchema.optional(),
      siteMeter: siteMeterSchema.optional(),
      peakShaving: peakShavingSchema.optional(),
      connection: connectionSchema.optional(),
      feeders: listSchema(feederSchema).default([]),
      ...timingFields,
      chargers: listSchema(chargerSchema).default([]),
    },
    GROUP_RULE,
  )
  .transform(({ heartbeatS, leaseTtlS, chargers, ...location }) => ({
    ...location,
    chargers: chargers.map((charger) =>
      withTiming(charger, charger.timing ?? timingOf({ heartbeatS, leaseTtlS })),
    ),
  }));

const gatewaySchema = z.strictObject(
  {
    gatewayId: idSchema<string>(),
    mqttPassword: secretSchema().optional(),
    controllers: listSchema(idSchema<ControllerUuid>()).min(1, 'must name at least one charger'),
  },
  GROUP_RULE,
);

const tenantSchema = z.strictObject(
  {
    tenantUuid: idSchema<TenantUuid>(),
    name: textSchema(200),
    features: listSchema(z.enum([ENERGY_MANAGEMENT], `must be ${ENERGY_MANAGEMENT}`)).default([]),
    apiKeys: listSchema(apiKeySchema).default([]),
    clients: listSchema(clientSchema).default([]),
    locations: listSchema(locationSchema).default([]),
    gateways: listSchema(gatewaySchema).default([]),
  },
  GROUP_RULE,
);

export const provisioningSchema = z.strictObject(
  { tenants: listSchema(tenantSchema).min(1, 'must name at least one tenant') },
  'must be a group of fields, beginning with "tenants:"',
);

/** A file that is fully valid. Powers in kW, currents in A per phase, `expiresAt` in epoch milliseconds. */
export type ProvisioningFile = z.output<typeof provisioningSchema>;
export type TenantEntry = ProvisioningFile['tenants'][number];
export type SiteMeterEntry = z.output<typeof siteMeterSchema>;
export type OperatorEntry = z.output<typeof operatorSchema>;
