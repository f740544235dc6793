// Looks up the tenants, locations, chargers and connectors of a scenario by name.
import { connectorKey } from '../../machines/values/ids.js';
import type { FieldProblem } from '../../src/provisioning/cross-checks.js';
import { suggest } from '../../src/provisioning/parse-yaml.js';
import type { ProvisioningFile } from '../../src/provisioning/provisioning-schema.js';
import type { ScenarioConnector } from './scenario.js';

/** Names are unique in the scenario, across its tenants, if `provisionProblems` finds no problem. */
export interface SitePlan {
  readonly tenants: readonly string[];
  readonly locations: ReadonlySet<string>;
  readonly chargers: readonly { readonly locationId: string; readonly controllerUuid: string }[];
  readonly connectors: ReadonlyMap<string, ScenarioConnector>;
}

export function sitePlanOf({ tenants }: ProvisioningFile): SitePlan {
  const connectors = tenants.flatMap(({ tenantUuid, locations }) =>
    locations.flatMap(({ locationId, chargers }) =>
      chargers.flatMap((charger) =>
        charger.connectors.map(({ connectorId, phases, voltageV, maxCurrentA, dc }) => {
          const { controllerUuid } = charger;
          const key = connectorKey({ controllerUuid, connectorId });
          const rating = { phases, voltageV, maxCurrentA, dc };
          return { tenantUuid, locationId, controllerUuid, connectorId, key, ...rating };
        }),
      ),
    ),
  );
  const locations = tenants.flatMap((tenant) => tenant.locations);
  return {
    tenants: tenants.map(({ tenantUuid }) => tenantUuid),
    locations: new Set(locations.map(({ locationId }) => locationId)),
    chargers: locations.flatMap(({ locationId, chargers }) =>
      chargers.map(({ controllerUuid }) => ({ locationId, controllerUuid })),
    ),
    connectors: new Map(connectors.map((connector) => [connector.key, connector])),
  };
}

/** Names that two tenants of one world share: a trace names locations and chargers without their tenant. */
export function provisionProblems({ tenants }: ProvisioningFile): readonly FieldProblem[] {
  const seen = new Map<string, number>();
  const problems: FieldProblem[] = [];
  const claim = (id: string, owner: number, path: FieldProblem['path']) => {
    const first = seen.get(id) ?? owner;
    seen.set(id, first);
    if (first !== owner)
      problems.push({
        path,
        message: `"${id}" belongs to another tenant too; it must be unique in a scenario`,
      });
  };
  tenants.forEach(({ locations }, t) => {
    locations.forEach(({ locationId, chargers }, l) => {
      const path = ['provision', 'tenants', t, 'locations', l];
      claim(`location ${locationId}`, t, [...path, 'locationId']);
      chargers.forEach(({ controllerUuid }, c) => {
        claim(`charger ${controllerUuid}`, t, [...path, 'chargers', c, 'controllerUuid']);
      });
    });
  });
  return problems;
}

/** Empty if `known` has `name`; otherwise the problem at `path`. */
export function unknownName(
  name: string | undefined,
  known: ReadonlySet<string> | ReadonlyMap<string, unknown>,
  path: FieldProblem['path'],
): readonly FieldProblem[] {
  if (name === undefined || known.has(name)) return [];
  const some = [...known.keys()].slice(0, 1000);
  const advice =
    some.length > 20
      ? suggest(name, some).replace(/^must be one of .*/, 'must be one that is provisioned')
      : suggest(name, some);
  return [{ path, message: `is "${name}", which this scenario does not have; ${advice}` }];
}
