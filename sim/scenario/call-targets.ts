// Finds calls that the service can only refuse, because the scenario provisions no such target. The user gets these
// errors before the run.
import type { FieldPath, FieldProblem } from '../../src/provisioning/cross-checks.js';
import type { ProvisioningFile } from '../../src/provisioning/provisioning-schema.js';
import type { EndpointDescription } from '../../src/wire/openapi.js';
import { type ActionEntry, OPERATIONS, parseKept } from './action-schema.js';
import { unknownName } from './site-plan.js';

type Tenant = ProvisioningFile['tenants'][number];
type Location = Tenant['locations'][number];

/** Calls with an answer that later calls refer to, by the name of the answer. */
export type KeptCalls = ReadonlyMap<string, ActionEntry>;

/** Field of the provisioning file that a location must have for calls of a path. */
const NEEDED: Readonly<Record<string, keyof Location>> = {
  '/v1/locations/{locationId}/operator-limit': 'operator',
  '/v1/locations/{locationId}/site-meter': 'siteMeter',
};
const FEATURE = 'energy-management';

/** Problems of the targets of `action`, which the scenario expects to succeed; their paths are relative to it. */
export function targetProblems(
  action: ActionEntry,
  { tenants }: ProvisioningFile,
  kept: KeptCalls,
): readonly FieldProblem[] {
  const endpoint = OPERATIONS.get(action.call);
  const tenant =
    action.tenant === undefined ? tenants[0] : tenants.find(({ tenantUuid }) => tenantUuid === action.tenant);
  if (endpoint === undefined || tenant === undefined) return [];
  const isMember = tenant.features.includes(FEATURE);
  const path: FieldPath = action.tenant === undefined ? ['call'] : ['tenant'];
  const refused = `would be refused: tenant ${tenant.tenantUuid} needs features: [${FEATURE}]`;
  return [
    ...(isMember ? [] : [{ path, message: refused }]),
    ...locationProblems(action, endpoint, tenant, tenants),
    ...connectorProblems(action, endpoint, tenant, tenants),
    ...memberProblems(action, tenant, tenants),
    ...clusterProblems(action, kept),
  ];
}

function locationProblems(
  { params, query }: ActionEntry,
  endpoint: EndpointDescription,
  tenant: Tenant,
  tenants: readonly Tenant[],
): readonly FieldProblem[] {
  const { locationId } = params;
  if (locationId === undefined || parseKept(locationId) !== undefined) return [];
  const path = ['params', 'locationId'];
  const location = tenant.locations.find((each) => each.locationId === locationId);
  if (location === undefined) return unknownLocation(locationId, tenant, tenants, path);
  const needed = NEEDED[endpoint.path];
  const isLacking = needed !== undefined && location[needed] === undefined;
  const { feeder } = query;
  const feeders = new Set(location.feeders.map(({ name }) => name));
  return [
    ...inactive(endpoint, location.status, `location ${locationId}`, path),
    ...(isLacking
      ? [{ path, message: `is "${locationId}", which has no ${needed}; ${endpoint.operationId} needs one` }]
      : []),
    ...(feeder === undefined ? [] : unknownName(feeder, feeders, ['query', 'feeder'])),
  ];
}

function connectorProblems(
  { params }: ActionEntry,
  endpoint: EndpointDescription,
  tenant: Tenant,
  tenants: readonly Tenant[],
): readonly FieldProblem[] {
  const { controllerUuid, connectorId } = params;
  if (controllerUuid === undefined || connectorId === undefined) return [];
  const path = ['params', 'controllerUuid'];
  const chargersOf = (of: Tenant) =>
    of.locations.flatMap((location) => location.chargers.map((charger) => ({ ...charger, location })));
  const own = chargersOf(tenant);
  const charger = own.find((each) => each.controllerUuid === controllerUuid);
  if (charger === undefined) {
    const owner = tenants.find((each) => chargersOf(each).some((of) => of.controllerUuid === controllerUuid));
    return owner === undefined
      ? unknownName(controllerUuid, new Set(own.map((each) => each.controllerUuid)), path)
      : [foreign(controllerUuid, owner, path)];
  }
  const connector = charger.connectors.find((each) => each.connectorId === connectorId);
  if (connector === undefined) {
    const known = new Set(charger.connectors.map((each) => each.connectorId));
    return unknownName(connectorId, known, ['params', 'connectorId']);
  }
  const { status, locationId } = charger.location;
  return [
    ...inactive(endpoint, status, `location ${locationId}`, path),
    ...inactive(endpoint, connector.status, `connector ${controllerUuid}/${connectorId}`, path),
  ];
}

/** Problems of the members in a call that creates or changes a cluster. */
function memberProblems(
  { body }: ActionEntry,
  tenant: Tenant,
  tenants: readonly Tenant[],
): readonly FieldProblem[] {
  const members: unknown = typeof body === 'object' && body !== null ? Reflect.get(body, 'locationIds') : [];
  if (!Array.isArray(members)) return [];
  return members.flatMap((member: unknown, i) =>
    typeof member === 'string' && !tenant.locations.some(({ locationId }) => locationId === member)
      ? unknownLocation(member, tenant, tenants, ['body', 'locationIds', i])
      : [],
  );
}

/** A scenario can refer to a cluster only by the answer of the call that created it. */
function clusterProblems({ params }: ActionEntry, kept: KeptCalls): readonly FieldProblem[] {
  return Object.entries(params).flatMap(([param, value]) => {
    const path = ['params', param];
    if (param === 'clusterId' && !value.startsWith('$')) {
      const message = `is "${value}", which no cluster has; keep the answer of createCluster with "as: name" and write $name.clusterId`;
      return [{ path, message }];
    }
    const reference = parseKept(value);
    const call = reference && kept.get(reference.name);
    return reference === undefined || call === undefined ? [] : fieldProblems(reference, call, path);
  });
}

function fieldProblems(
  { name, field }: { readonly name: string; readonly field: string },
  { call, status }: ActionEntry,
  path: FieldPath,
): readonly FieldProblem[] {
  const endpoint = OPERATIONS.get(call);
  if (endpoint === undefined) return [];
  const fields: unknown = Reflect.get(endpoint.responseSchema, 'shape');
  const isRefused = (status ?? endpoint.status) >= 400;
  const isThere = typeof fields !== 'object' || fields === null || Object.hasOwn(fields, field);
  if (isThere && !isRefused) return [];
  return [{ path, message: `is "$${name}.${field}", and the answer of ${call} has no ${field}` }];
}

function unknownLocation(
  locationId: string,
  { locations }: Tenant,
  tenants: readonly Tenant[],
  path: FieldPath,
): readonly FieldProblem[] {
  const owner = tenants.find((each) => each.locations.some((of) => of.locationId === locationId));
  if (owner !== undefined) return [foreign(locationId, owner, path)];
  return unknownName(locationId, new Set(locations.map((each) => each.locationId)), path);
}

function foreign(id: string, { tenantUuid }: Tenant, path: FieldPath): FieldProblem {
  return { path, message: `is "${id}", which is of tenant ${tenantUuid}; add "tenant: ${tenantUuid}"` };
}

function inactive(
  { errors }: EndpointDescription,
  status: string,
  name: string,
  path: FieldPath,
): readonly FieldProblem[] {
  if (status === 'ACTIVE' || !errors.includes('TARGET_INACTIVE')) return [];
  return [{ path, message: `would be refused: ${name} is ${status}; say "status: 400" where that is meant` }];
}
