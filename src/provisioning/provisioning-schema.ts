// The shape of the provisioning file, with bounds and defaults. Each error has the rule.
import { z } from 'zod';
import type { LocationId, TenantUuid } from '../../machines/values/ids.js';
import {
  departuresIn,
  LOCATION_FIELDS,
  TENANT_FIELDS,
  withLimitRules,
} from '../features/provisioned-fields.js';
import { ENERGY_MANAGEMENT } from '../ports/records.js';
import { chargerSchema, timingFields, timingOf, withTiming } from './charger-schema.js';
import {
  FEEDER_RULE,
  GROUP_RULE,
  idSchema,
  listSchema,
  numberSchema,
  phaseCurrentsSchema,
  powerSchema,
  statusSchema,
  textSchema,
} from './field-schemas.js';

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

const locationSchema = z
  .strictObject(
    {
      locationId: idSchema<LocationId>(),
      name: textSchema(200),
      status: statusSchema(),
      permanentLimitKw: powerSchema(),
      gridLimitKw: powerSchema().optional(),
      ...LOCATION_FIELDS,
      connection: connectionSchema.optional(),
      feeders: listSchema(feederSchema).default([]),
      ...timingFields,
      chargers: listSchema(chargerSchema).default([]),
    },
    GROUP_RULE,
  )
  .transform(({ heartbeatS, leaseTtlS, timeZone, departures, chargers, ...location }) => ({
    ...withLimitRules(location),
    departures: departuresIn(timeZone, departures),
    timeZone: timeZone ?? null,
    chargers: chargers.map(({ connectors, ...charger }) =>
      withTiming(
        {
          ...charger,
          connectors: connectors.map((connector) => ({
            ...connector,
            departures: departuresIn(timeZone, connector.departures),
          })),
        },
        charger.timing ?? timingOf({ heartbeatS, leaseTtlS }),
      ),
    ),
  }));

const tenantSchema = z.strictObject(
  {
    tenantUuid: idSchema<TenantUuid>(),
    name: textSchema(200),
    features: listSchema(z.enum([ENERGY_MANAGEMENT], `must be ${ENERGY_MANAGEMENT}`)).default([]),
    ...TENANT_FIELDS,
    locations: listSchema(locationSchema).default([]),
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
