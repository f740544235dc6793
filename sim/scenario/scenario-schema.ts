// Checks of a scenario across its fields: unknown names, times outside the run, overlapping visits.

import { z } from 'zod';
import type { EpochMs } from '../../machines/values/time.js';
import { crossCheck, type FieldPath, type FieldProblem } from '../../src/provisioning/cross-checks.js';
import { GROUP_RULE, listSchema, textSchema, wholeSchema } from '../../src/provisioning/field-schemas.js';
import { type ProvisioningFile, provisioningSchema } from '../../src/provisioning/provisioning-schema.js';
import type { EndpointDescription } from '../../src/wire/openapi.js';
import { type ActionEntry, actionProblems, actionSchema, OPERATIONS, parseKept } from './action-schema.js';
import { buildingProblems, buildingsSchema } from './building-schema.js';
import { LARGEST_SEED } from './draw.js';
import { expectationProblems, expectationSchema } from './expectation-schema.js';
import { faultsSchema } from './fault-schema.js';
import { gridProblems, gridSchema } from './grid-schema.js';
import {
  durationSchema,
  localInstantSchema,
  type Moment,
  resolveMoment,
  type ScenarioSpan,
} from './moment.js';
import { ocppProblems, ocppSchema } from './ocpp-schema.js';
import { TRANSPORTS } from './scenario.js';
import { departuresSchema, sessionsSchema, type VisitEntry, vehicleSchema } from './session-schema.js';
import { provisionSites, sitesSchema } from './site-generator.js';
import { provisionProblems, type SitePlan, sitePlanOf, unknownName } from './site-plan.js';

// Schema of the scenario file, with bounds and defaults. Each error message states the rule for its field.
const SECOND_MS = 1000;

export const scenarioSchema = z.strictObject(
  {
    name: textSchema(200),
    seed: wholeSchema(0, LARGEST_SEED).default(1),
    start: localInstantSchema,
    duration: durationSchema(SECOND_MS),
    meterPeriod: durationSchema(SECOND_MS).default(10 * SECOND_MS),
    transport: z.enum(TRANSPORTS, `must be one of ${TRANSPORTS.join(', ')}`).default('inProcess'),
    provision: provisioningSchema.optional(),
    sites: sitesSchema.optional(),
    ocpp: ocppSchema,
    keepsThen: z.boolean('must be true or false').default(true),
    endsWithSession: z.boolean('must be true or false').default(false),
    switchesPhases: z.boolean('must be true or false').default(false),
    grid: gridSchema,
    buildings: buildingsSchema,
    sessions: sessionsSchema,
    departures: departuresSchema,
    vehicles: listSchema(vehicleSchema).min(1, 'must name at least one class').optional(),
    actions: listSchema(actionSchema).default([]),
    faults: faultsSchema,
    expect: listSchema(expectationSchema).default([]),
  },
  `${GROUP_RULE}, beginning with "name:"`,
);
export type ScenarioFile = z.output<typeof scenarioSchema>;

// Finds calls that the service can only refuse, because the scenario provisions no such target. The user gets these
// errors before the run.
type Tenant = ProvisioningFile['tenants'][number];
type Location = Tenant['locations'][number];

/** Calls with an answer that later calls refer to, by the name of the answer. */
type KeptCalls = ReadonlyMap<string, ActionEntry>;

/** Field of the provisioning file that a location must have for calls of a path. */
const NEEDED: Readonly<Record<string, keyof Location>> = {
  '/v1/locations/{locationId}/operator-limit': 'operator',
  '/v1/locations/{locationId}/site-meter': 'siteMeter',
};
const FEATURE = 'energy-management';

/** Problems of the targets of `action`, which the scenario expects to succeed; their paths are relative to it. */
function targetProblems(
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
  return [{ path, message: `would be refused: ${name} is ${status}; add "status: 400" if that is intended` }];
}

interface Context {
  readonly file: ScenarioFile;
  readonly span: ScenarioSpan;
  readonly plan: SitePlan;
  readonly provision: ProvisioningFile;
}

/** Context of the checks of calls and faults, either of a whole scenario or of additions to one. */
interface CallContext extends Omit<Context, 'file'> {
  readonly file: Pick<ScenarioFile, 'actions' | 'faults'>;
}

/** The time that the file covers. */
export function spanOf({ start, duration }: ScenarioFile, durationMs = duration): ScenarioSpan {
  return { startsAtMs: start.atMs, endsAtMs: start.atMs + durationMs, utcOffsetMs: start.utcOffsetMs };
}

function below(path: FieldPath, problems: readonly FieldProblem[]): readonly FieldProblem[] {
  return problems.map((problem) => ({ ...problem, path: [...path, ...problem.path] }));
}

function outside(
  moment: Moment | undefined,
  { startsAtMs, endsAtMs, ...span }: ScenarioSpan,
  path: FieldPath,
) {
  if (moment === undefined) return [];
  const atMs = resolveMoment(moment, { startsAtMs, endsAtMs, ...span });
  if (atMs >= startsAtMs && atMs <= endsAtMs) return [];
  const range = `${new Date(startsAtMs).toISOString()} to ${new Date(endsAtMs).toISOString()}`;
  return [
    { path, message: `is ${new Date(atMs).toISOString()}, which is not in the run; must be from ${range}` },
  ];
}

function overlaps(visits: readonly VisitEntry[], span: ScenarioSpan): readonly FieldProblem[] {
  const last = new Map<string, { readonly leavesAtMs: EpochMs; readonly i: number }>();
  const timed = visits
    .map(({ connector, arrives, leaves }, i) => ({
      connector,
      i,
      arrivesAtMs: resolveMoment(arrives, span),
      leavesAtMs: leaves === undefined ? Number.POSITIVE_INFINITY : resolveMoment(leaves, span),
    }))
    .sort((a, b) => a.arrivesAtMs - b.arrivesAtMs);
  return timed.flatMap(({ connector, i, arrivesAtMs, leavesAtMs }) => {
    const before = last.get(connector);
    last.set(connector, { leavesAtMs, i });
    if (before === undefined || arrivesAtMs >= before.leavesAtMs) return [];
    return [
      { path: [i, 'arrives'], message: `is before the car of visits[${before.i}] has left ${connector}` },
    ];
  });
}

function visitProblems(
  visits: readonly VisitEntry[],
  { file, span, plan }: Context,
): readonly FieldProblem[] {
  const classes = new Set(file.vehicles?.map(({ name }) => name));
  const each = visits.flatMap(({ connector, arrives, leaves, vehicle }, i) => {
    const isBackwards = leaves !== undefined && resolveMoment(leaves, span) <= resolveMoment(arrives, span);
    return [
      ...unknownName(connector, plan.connectors, [i, 'connector']),
      ...unknownName(vehicle, classes, [i, 'vehicle']),
      ...outside(arrives, span, [i, 'arrives']),
      ...(isBackwards ? [{ path: [i, 'leaves'], message: 'must be after arrives' }] : []),
    ];
  });
  return below(['sessions', 'visits'], [...each, ...overlaps(visits, span)]);
}

function stationProblems({ file, plan }: Context): readonly FieldProblem[] {
  const stations = file.sessions.csv?.stations ?? 'inOrder';
  if (stations === 'inOrder') return [];
  const taken = new Map<string, string>();
  return Object.entries(stations).flatMap(([station, key]) => {
    const path = ['sessions', 'csv', 'stations', station];
    const other = taken.get(key);
    taken.set(key, station);
    if (other === undefined) return unknownName(key, plan.connectors, path);
    return [{ path, message: `is "${key}", which ${other} has already; each station needs its own` }];
  });
}

function vehicleProblems({ vehicles = [] }: ScenarioFile): readonly FieldProblem[] {
  const taken = new Set<string>();
  const problems = vehicles.flatMap(({ name }, i) => {
    const isTaken = taken.has(name);
    taken.add(name);
    return isTaken
      ? [{ path: ['vehicles', i, 'name'], message: `"${name}" is used already; it must be unique` }]
      : [];
  });
  const isNoneLikely = vehicles.length > 0 && vehicles.every(({ share }) => share === 0);
  return isNoneLikely
    ? [...problems, { path: ['vehicles'], message: 'must have a class with a share above 0' }]
    : problems;
}

function keptProblems(action: ActionEntry, kept: KeptCalls): readonly FieldProblem[] {
  return Object.entries(action.params).flatMap(([param, value]) => {
    if (!value.startsWith('$')) return [];
    const name = parseKept(value)?.name;
    const path = ['params', param];
    if (name === undefined) return [{ path, message: `is "${value}"; must be like $name.clusterId` }];
    return unknownName(name, kept, path);
  });
}

function actionsProblems(context: CallContext): readonly FieldProblem[] {
  const { file, span, plan, provision } = context;
  const kept = new Map<string, ActionEntry>();
  const inTime = file.actions
    .map((action, i) => ({ action, i, atMs: resolveMoment(action.at, span) }))
    .sort((a, b) => a.atMs - b.atMs);
  return inTime.flatMap(({ action, i }) => {
    const isSuccessMeant = (action.status ?? OPERATIONS.get(action.call)?.status ?? 200) < 400;
    const problems = [
      ...outside(action.at, span, ['at']),
      ...unknownName(action.tenant, new Set(plan.tenants), ['tenant']),
      ...actionProblems(action, span),
      ...keptProblems(action, kept),
      ...(isSuccessMeant ? targetProblems(action, provision, kept) : []),
    ];
    if (action.as !== undefined) kept.set(action.as, action);
    return below(['actions', i], problems);
  });
}

function faultsProblems({ file, span, plan }: CallContext): readonly FieldProblem[] {
  const chargers = new Set(plan.chargers.map(({ controllerUuid }) => controllerUuid));
  return file.faults.flatMap((fault, i) => {
    const from = 'from' in fault ? fault.from : undefined;
    const until = 'until' in fault ? fault.until : undefined;
    const isBackwards =
      from !== undefined && until !== undefined && resolveMoment(until, span) <= resolveMoment(from, span);
    const locations = 'locations' in fault ? fault.locations : undefined;
    const named = 'chargers' in fault ? fault.chargers : undefined;
    return below(
      ['faults', i],
      [
        ...outside(from, span, ['from']),
        ...outside(until, span, ['until']),
        ...(isBackwards ? [{ path: ['until'], message: 'must be after from' }] : []),
        ...(locations ?? []).flatMap((name, l) => unknownName(name, plan.locations, ['locations', l])),
        ...(named ?? []).flatMap((name, c) => unknownName(name, chargers, ['chargers', c])),
      ],
    );
  });
}

function expectProblems({ file, span, plan }: Context): readonly FieldProblem[] {
  return file.expect.flatMap((entry, i) =>
    below(
      ['expect', i],
      [
        ...expectationProblems(entry),
        ...outside(entry.at, span, ['at']),
        ...outside(entry.from, span, ['from']),
        ...outside(entry.until, span, ['until']),
        ...unknownName(entry.location, plan.locations, ['location']),
        ...unknownName(entry.connector, plan.connectors, ['connector']),
      ],
    ),
  );
}

/** All problems across the fields of a file; each field on its own is already valid. */
export function scenarioProblems(file: ScenarioFile): readonly FieldProblem[] {
  const provision = file.provision ?? (file.sites && provisionSites(file.sites));
  if (provision === undefined || (file.provision !== undefined && file.sites !== undefined)) {
    return [{ path: ['sites'], message: 'must be there if provision is not, and only then' }];
  }
  const context = { file, span: spanOf(file), plan: sitePlanOf(provision), provision };
  return [
    ...(file.provision === undefined ? [] : provisionProblems(file.provision)),
    ...visitProblems(file.sessions.visits ?? [], context),
    ...stationProblems(context),
    ...ocppProblems(file.ocpp, context.plan),
    ...gridProblems(file.grid, context.plan, (moment, path) => outside(moment, context.span, path)),
    ...buildingProblems(file.buildings, provision, (moment, path) => outside(moment, context.span, path)),
    ...vehicleProblems(file),
    ...actionsProblems(context),
    ...faultsProblems(context),
    ...expectProblems(context),
  ];
}

/** All problems of calls and faults that are added to a scenario within `span`. */
export function additionProblems(
  file: CallContext['file'],
  span: ScenarioSpan,
  provision: ProvisioningFile,
): readonly FieldProblem[] {
  const drifting = file.faults.flatMap(({ kind }, i) =>
    kind === 'clockDrift'
      ? [
          {
            path: ['faults', i, 'kind'],
            message: 'is clockDrift, which applies from the first instant on; it must stand in the scenario',
          },
        ]
      : [],
  );
  const context = { file, span, plan: sitePlanOf(provision), provision };
  return [...actionsProblems(context), ...faultsProblems(context), ...drifting];
}

/** All problems across the fields of the provisioning in `content`, which is the file as unchecked data. */
export function provisionCrossCheck(content: unknown): readonly FieldProblem[] {
  if (typeof content !== 'object' || content === null || !Object.hasOwn(content, 'provision')) return [];
  return below(['provision'], crossCheck(Reflect.get(content, 'provision')));
}
