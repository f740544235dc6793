// Generates the provisioning of many equal sites from the few lines of `sites:`.
import { z } from 'zod';
import { POLICY_NAMES } from '../../machines/policy/policies.js';
import { ratingFields } from '../../src/provisioning/charger-schema.js';
import { GROUP_RULE, powerSchema, wholeSchema } from '../../src/provisioning/field-schemas.js';
import { type ProvisioningFile, provisioningSchema } from '../../src/provisioning/provisioning-schema.js';

const MOST_CONNECTORS = 100_000;
/** The embedded broker allows a charger this many subscriptions to limits, in addition to `sync`. */
const MOST_OF_A_CHARGER = 7;

const TOGETHER_RULE = `is more than ${MOST_CONNECTORS} connectors together; must be fewer`;
const FAILSAFE_RULE = 'must be at most maxCurrentA';

/** `count` equal locations; `chargers` for each location, and `connectors` for each charger. */
export const sitesSchema = z
  .strictObject(
    {
      count: wholeSchema(1, 10_000),
      chargers: wholeSchema(1, 10_000),
      connectors: wholeSchema(1, MOST_OF_A_CHARGER).default(2),
      permanentLimitKw: powerSchema(),
      gridLimitKw: powerSchema().optional(),
      policy: z.enum(POLICY_NAMES, `must be one of ${POLICY_NAMES.join(', ')}`).default('equal'),
      ...ratingFields,
      phases: ratingFields.phases.default(3),
      maxCurrentA: ratingFields.maxCurrentA.default(32),
    },
    GROUP_RULE,
  )
  .refine(({ count, chargers, connectors }) => count * chargers * connectors <= MOST_CONNECTORS, {
    path: ['count'],
    error: TOGETHER_RULE,
  })
  .refine(({ failsafeA, maxCurrentA }) => failsafeA <= maxCurrentA, {
    path: ['failsafeA'],
    error: FAILSAFE_RULE,
  });
type Sites = z.output<typeof sitesSchema>;

function numbered<T>(count: number, make: (n: number) => T): readonly T[] {
  return Array.from({ length: count }, (_, i) => make(i + 1));
}

/** Tenant `sim` with locations `site-1`, …, their chargers `site-1-c1`, … and connectors `1`, …. */
export function provisionSites({
  count,
  chargers,
  connectors,
  permanentLimitKw,
  gridLimitKw,
  policy,
  ...rating
}: Sites): ProvisioningFile {
  return provisioningSchema.parse({
    tenants: [
      {
        tenantUuid: 'sim',
        name: 'Simulation',
        features: ['energy-management'],
        locations: numbered(count, (site) => ({
          locationId: `site-${site}`,
          name: `Site ${site}`,
          permanentLimitKw,
          policy,
          ...(gridLimitKw === undefined ? {} : { gridLimitKw }),
          chargers: numbered(chargers, (charger) => ({
            controllerUuid: `site-${site}-c${charger}`,
            connectors: numbered(connectors, (connector) => ({ connectorId: String(connector), ...rating })),
          })),
        })),
      },
    ],
  });
}
