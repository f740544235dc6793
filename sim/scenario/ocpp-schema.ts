// Schema of the OCPP chargers in a scenario: their protocol version and their handling of charging profiles.
import { z } from 'zod';
import type { ControllerUuid, LocationId } from '../../machines/values/ids.js';
import type { FieldPath, FieldProblem } from '../../src/provisioning/cross-checks.js';
import { GROUP_RULE, idSchema, listSchema } from '../../src/provisioning/field-schemas.js';
import type { ProvisioningFile } from '../../src/provisioning/provisioning-schema.js';
import { OCPP_BEHAVIOURS, OCPP_PROTOCOLS, type OcppBehaviour } from '../charger/traits.js';
import type { OcppMember } from './scenario.js';
import { type SitePlan, unknownName } from './site-plan.js';

const BEHAVIOURS = Object.keys(OCPP_BEHAVIOURS) as [OcppBehaviour, ...OcppBehaviour[]];

const ocppEntrySchema = z.strictObject(
  {
    locations: listSchema(idSchema<LocationId>()).optional(),
    chargers: listSchema(idSchema<ControllerUuid>()).optional(),
    protocol: z.enum(OCPP_PROTOCOLS, `must be one of ${OCPP_PROTOCOLS.join(', ')}`).default('ocpp1.6'),
    behaviours: listSchema(z.enum(BEHAVIOURS, `must be one of ${BEHAVIOURS.join(', ')}`)).default([]),
  },
  GROUP_RULE,
);
export const ocppSchema = listSchema(ocppEntrySchema).default([]);
type OcppEntry = z.output<typeof ocppEntrySchema>;

function isMeant({ locations, chargers }: OcppEntry, charger: SitePlan['chargers'][number]): boolean {
  const isNamed = (names: readonly string[] | undefined, name: string) => names?.includes(name) ?? true;
  return isNamed(locations, charger.locationId) && isNamed(chargers, charger.controllerUuid);
}

/**
 * The first entry that names a charger applies to it. With `isAll`, a charger without an entry becomes a plain OCPP 1.6
 * charger. DC chargers always use MQTT.
 */
export function ocppMembersOf(
  entries: readonly OcppEntry[],
  {
    plan,
    provision,
    isAll,
  }: {
    readonly plan: SitePlan;
    readonly provision: ProvisioningFile;
    readonly isAll: boolean;
  },
): readonly OcppMember[] {
  const isDc = dcChargersOf(provision);
  return plan.chargers.flatMap((charger) => {
    const { controllerUuid } = charger;
    const entry = entries.find((each) => isMeant(each, charger));
    if (isDc.has(controllerUuid) || (entry === undefined && !isAll)) return [];
    const { protocol = 'ocpp1.6', behaviours = [] } = entry ?? {};
    return [{ controllerUuid, protocol, behaviours }];
  });
}

export function ocppProblems(
  entries: readonly OcppEntry[],
  plan: SitePlan,
  provision: ProvisioningFile,
): readonly FieldProblem[] {
  const known = new Set(plan.chargers.map(({ controllerUuid }) => controllerUuid));
  const isDc = dcChargersOf(provision);
  return entries.flatMap(({ locations = [], chargers = [] }, i) => {
    const at = (...path: FieldPath): FieldPath => ['ocpp', i, ...path];
    return [
      ...locations.flatMap((name, l) => unknownName(name, plan.locations, at('locations', l))),
      ...chargers.flatMap((name, c) => unknownName(name, known, at('chargers', c))),
      ...chargers.flatMap((name, c) =>
        isDc.has(name)
          ? [{ path: at('chargers', c), message: `"${name}" has DC connectors: it has to join by MQTT` }]
          : [],
      ),
    ];
  });
}

function dcChargersOf({ tenants }: ProvisioningFile): ReadonlySet<string> {
  const chargers = tenants.flatMap(({ locations }) => locations.flatMap((location) => location.chargers));
  const dc = chargers.filter(({ connectors }) => connectors.some((connector) => connector.dc !== null));
  return new Set(dc.map(({ controllerUuid }) => controllerUuid));
}
