// Schema of the OCPP chargers in a scenario: their protocol version and their handling of charging profiles.
import { z } from 'zod';
import type { ControllerUuid, LocationId } from '../../machines/values/ids.js';
import type { FieldPath, FieldProblem } from '../../src/provisioning/cross-checks.js';
import { GROUP_RULE, idSchema, listSchema } from '../../src/provisioning/field-schemas.js';
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
 * charger.
 */
export function ocppMembersOf(
  entries: readonly OcppEntry[],
  { plan, isAll }: { readonly plan: SitePlan; readonly isAll: boolean },
): readonly OcppMember[] {
  return plan.chargers.flatMap((charger) => {
    const { controllerUuid } = charger;
    const entry = entries.find((each) => isMeant(each, charger));
    if (entry === undefined && !isAll) return [];
    const { protocol = 'ocpp1.6', behaviours = [] } = entry ?? {};
    return [{ controllerUuid, protocol, behaviours }];
  });
}

export function ocppProblems(entries: readonly OcppEntry[], plan: SitePlan): readonly FieldProblem[] {
  const known = new Set(plan.chargers.map(({ controllerUuid }) => controllerUuid));
  return entries.flatMap(({ locations = [], chargers = [] }, i) => {
    const at = (...path: FieldPath): FieldPath => ['ocpp', i, ...path];
    return [
      ...locations.flatMap((name, l) => unknownName(name, plan.locations, at('locations', l))),
      ...chargers.flatMap((name, c) => unknownName(name, known, at('chargers', c))),
    ];
  });
}
