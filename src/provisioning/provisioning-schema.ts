// The shape of the provisioning file, with bounds and defaults. Each error has the rule.
import { z } from 'zod';
import type { LimitRules } from '../../machines/limits/limit-rules.js';
import type { ControllerUuid, LocationId, TenantUuid } from '../../machines/values/ids.js';
import { provisionedOperatorSchema } from '../features/operator-limit/contract.js';
import { provisionedPeakShavingSchema } from '../features/peak-shaving/contract.js';
import { provisionedSiteMeterSchema } from '../features/site-meter/contract.js';
import { ENERGY_MANAGEMENT, SCOPES, USUAL_SCOPES } from '../ports/records.js';
import { parseApiKey } from '../secrets.js';
import { fromInstant } from '../wire/instants.js';
import { instantSchema } from '../wire/rest.js';
import { chargerSchema, timingFields, timingOf, withTiming } from './charger-schema.js';
import {
  CHOSEN_SECRET_RULE,
  FEEDER_RULE,
  GROUP_RULE,
  idSchema,
  isChosenSecretFit,
  listSchema,
  numberSchema,
  phaseCurrentsSchema,
  powerSchema,
  secretSchema,
  statusSchema,
  textSchema,
} from './field-schemas.js';

const KEY_RULE = 'must be hr_<8 characters>_<16 to 128 characters>, all of A-Z a-z 0-9';
const KEY_SECRET_RULE = `after hr_<8 characters>_ it ${CHOSEN_SECRET_RULE}; leave the key out to have one made`;

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

/** Fields of a location with the rules of its further limits. */
const limitRuleFields = {
  peakShaving: provisionedPeakShavingSchema.optional(),
} satisfies Readonly<Record<keyof LimitRules, z.ZodType>>;

/** Joins these fields of a location. */
function withLimitRules<L extends LimitRules>({ peakShaving, ...location }: L) {
  const limitRules: Required<LimitRules> = { peakShaving };
  return { ...location, limitRules };
}

const locationSchema = z
  .strictObject(
    {
      locationId: idSchema<LocationId>(),
      name: textSchema(200),
      status: statusSchema(),
      permanentLimitKw: powerSchema(),
      gridLimitKw: powerSchema().optional(),
      operator: provisionedOperatorSchema.optional(),
      siteMeter: provisionedSiteMeterSchema.optional(),
      ...limitRuleFields,
      connection: connectionSchema.optional(),
      feeders: listSchema(feederSchema).default([]),
      ...timingFields,
      chargers: listSchema(chargerSchema).default([]),
    },
    GROUP_RULE,
  )
  .transform(({ heartbeatS, leaseTtlS, chargers, ...location }) => ({
    ...withLimitRules(location),
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
  'must be a group of fields that begins with "tenants:"',
);

/** A fully valid file. Powers in kW, currents in A per phase, `expiresAt` in epoch milliseconds. */
export type ProvisioningFile = z.output<typeof provisioningSchema>;
export type TenantEntry = ProvisioningFile['tenants'][number];
