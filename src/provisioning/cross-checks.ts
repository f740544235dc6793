// Checks across fields: duplicate ids, a gateway for unknown chargers, a fail-safe above the maximum. They use the raw
// document, so that their errors are reported together with those of the shape.

import { z } from 'zod';
import {
  type Connection,
  type Feeder,
  Fuses,
  nameOfCircuitPhase,
  PHASE_ROTATIONS,
} from '../../machines/power/fuses.js';
import { MINIMUM_CURRENT_A, MINIMUM_TENTHS_A, tenthsOfDcW } from '../../machines/values/units.js';
import { SITE_LOGIN_IDS } from '../features/provisioned-fields.js';
import { parseApiKey } from '../secrets.js';
import { dcPowerSchema, efficiencySchema, phaseCurrentsSchema } from './field-schemas.js';
import { quote, quotedIfOdd } from './quote.js';

// Finds values of a raw document with their path, for checks across fields.
export type FieldPath = readonly (string | number)[];

/** One error with its path in the document. */
export interface FieldProblem {
  readonly path: FieldPath;
  readonly message: string;
}

interface Found {
  readonly path: FieldPath;
  readonly value: unknown;
}

/** Every value at `pattern` below `root`; `*` stands for each element of a list. */
function collect(root: Found, pattern: readonly string[]): readonly Found[] {
  const [step, ...rest] = pattern;
  if (step === undefined) return [root];
  const { value, path } = root;
  if (step === '*') {
    if (!Array.isArray(value)) return [];
    return value.flatMap((element: unknown, i) => collect({ path: [...path, i], value: element }, rest));
  }
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return [];
  return collect({ path: [...path, step], value: Reflect.get(value, step) }, rest);
}

// Checks the fuses of a location: feeders that do not exist or form a loop, ratings that no charger can use.

// Only the fields that these checks need: the schema of the file reports all other errors.
const connectionShape = z.object({ currentA: phaseCurrentsSchema(), voltageV: z.number().default(230) });
const feederShape = z.object({
  name: z.string(),
  currentA: phaseCurrentsSchema(),
  parent: z.string().nullable().default(null),
});
const acShape = z.object({
  powerType: z.literal('AC').optional(),
  phases: z.literal([1, 3]),
  rotation: z.enum(PHASE_ROTATIONS).optional(),
  voltageV: z.number().default(230),
  failsafeA: z.number().default(MINIMUM_CURRENT_A),
});
const dcShape = z
  .object({
    powerType: z.literal('DC'),
    voltageV: z.number().min(1).default(230),
    efficiency: efficiencySchema(),
    failsafeKw: dcPowerSchema(0).default(0),
  })
  .transform(({ voltageV, efficiency, failsafeKw }) => {
    const dc = { maxPowerKw: failsafeKw, minPowerKw: 0, efficiency };
    const failsafeA = tenthsOfDcW(1000 * failsafeKw, { voltageV, dc }) / 10;
    return { phases: 3 as const, rotation: undefined, voltageV, failsafeA, failsafeKw };
  });
const connectorShape = z.union([acShape, dcShape]);

/** All errors of the fuses of `location`, raw data of any shape, and of its chargers' places in them. */
function fuseProblems(location: Found): readonly FieldProblem[] {
  const connectors = collect(location, ['chargers', '*', 'connectors', '*']);
  return [
    ...unknownFeeders(location),
    ...loops(location),
    ...connectors.flatMap(rotationProblems),
    ...ratingProblems(location),
  ];
}

function rotationProblems(connector: Found): readonly FieldProblem[] {
  const parsed = connectorShape.safeParse(connector.value);
  if (!parsed.success || parsed.data.rotation === undefined) return [];
  const { phases, rotation } = parsed.data;
  if (rotation.length === phases) return [];
  const must =
    phases === 1 ? 'one letter (R, S or T) with phases: 1' : 'three letters (RST, …) with phases: 3';
  return [{ path: [...connector.path, 'rotation'], message: `is ${rotation}; must be ${must}` }];
}

function unknownFeeders(location: Found): readonly FieldProblem[] {
  const names = collect(location, ['feeders', '*', 'name'])
    .map(({ value }) => value)
    .filter((value) => typeof value === 'string');
  const known = new Set(names);
  const named = [
    ...collect(location, ['feeders', '*', 'parent']),
    ...collect(location, ['chargers', '*', 'feeder']),
  ];
  const advice =
    known.size === 0 ? 'this location has no feeders' : `must be one of this location: ${names.join(', ')}`;
  return named
    .filter(({ value }) => typeof value === 'string' && !known.has(value))
    .map(({ path, value }) => ({ path, message: `is "${value}"; ${advice}` }));
}

function loops(location: Found): readonly FieldProblem[] {
  const parentOf = parentsOf(location);
  return collect(location, ['feeders', '*', 'parent']).flatMap((parent) => {
    const own = collect({ ...location, value: feederAt(location, parent.path) }, ['name'])[0]?.value;
    if (typeof own !== 'string' || typeof parent.value !== 'string') return [];
    const round = [own];
    let above: string | undefined = parent.value;
    while (above !== undefined && !round.includes(above)) {
      round.push(above);
      above = parentOf.get(above);
    }
    if (above !== own) return [];
    const message = `forms a circle: ${[...round, own].join(' under ')}; must end at the connection: leave one parent out`;
    return [{ path: parent.path, message }];
  });
}

function parentsOf(location: Found): ReadonlyMap<string, string> {
  const parents = new Map<string, string>();
  for (const feeder of collect(location, ['feeders', '*'])) {
    const name = collect(feeder, ['name'])[0]?.value;
    const parent = collect(feeder, ['parent'])[0]?.value;
    if (typeof name === 'string' && typeof parent === 'string') parents.set(name, parent);
  }
  return parents;
}

/** The feeder on the path of one of its fields. */
function feederAt(location: Found, path: FieldPath): unknown {
  return collect(location, ['feeders', '*']).find(({ path: own }) => own.every((step, i) => step === path[i]))
    ?.value;
}

/** Contradicting ratings; only fuses that parse are checked. */
function ratingProblems(location: Found): readonly FieldProblem[] {
  const connection = connectionShape.safeParse(collect(location, ['connection'])[0]?.value);
  const feeders = collect(location, ['feeders', '*']).map(({ value }) => feederShape.safeParse(value));
  const fuses = new Fuses(
    connection.success ? connection.data : null,
    feeders.flatMap(({ success, data }): Feeder[] => (success ? [data] : [])),
  );
  return collect(location, ['chargers', '*']).flatMap((charger) => {
    const feeder = collect(charger, ['feeder'])[0]?.value;
    return collect(charger, ['connectors', '*']).flatMap((connector) =>
      connectorProblems(connector, fuses, typeof feeder === 'string' ? feeder : null, connection.data),
    );
  });
}

function connectorProblems(
  connector: Found,
  fuses: Fuses,
  feeder: string | null,
  connection: Connection | undefined,
): readonly FieldProblem[] {
  const parsed = connectorShape.safeParse(connector.value);
  if (!parsed.success) return [];
  const { phases, rotation, voltageV, failsafeA } = parsed.data;
  const problems: FieldProblem[] = [];
  if (connection !== undefined && voltageV !== connection.voltageV) {
    const message = `is ${voltageV}; must be ${connection.voltageV}, the voltageV of the connection: amperes add up at one voltage`;
    problems.push({ path: [...connector.path, 'voltageV'], message });
  }
  for (const place of fuses.circuitPhasesOf({ phases, rotation: rotation ?? null, feeder })) {
    const circuitPhase = fuses.circuitPhases[place];
    if (circuitPhase === undefined) continue;
    const carriedA = circuitPhase.capacityTenthsA / 10;
    if (circuitPhase.capacityTenthsA < MINIMUM_TENTHS_A) {
      const wayOut =
        phases === 1 ? 'name a phase that has one' : 'a connector of three phases needs all of them';
      const message = `would load ${nameOfCircuitPhase(circuitPhase)}, which has no fuse; ${wayOut}`;
      const field = 'failsafeKw' in parsed.data ? 'powerType' : phases === 1 ? 'rotation' : 'phases';
      problems.push({ path: [...connector.path, field], message });
      break;
    }
    if (failsafeA > carriedA) {
      const isDc = 'failsafeKw' in parsed.data;
      const is = isDc ? `takes up to ${failsafeA} A from each phase` : `is ${failsafeA}`;
      const message = `${is}; must be at most the ${carriedA} A of ${nameOfCircuitPhase(circuitPhase)}`;
      problems.push({ path: [...connector.path, isDc ? 'failsafeKw' : 'failsafeA'], message });
      break;
    }
  }
  return problems;
}

const LEASE_OUTLASTS_HEARTBEATS = 3;

/** `tenants[0].name` for people. */
export function formatPath(path: FieldPath): string {
  return path
    .map((step, i) => (typeof step === 'number' ? `[${step}]` : `${i === 0 ? '' : '.'}${quotedIfOdd(step)}`))
    .join('');
}

function duplicates(found: readonly Found[], scope: string, show = (value: string) => value): FieldProblem[] {
  const firstAt = new Map<string, FieldPath>();
  const problems: FieldProblem[] = [];
  for (const { path, value } of found) {
    if (typeof value !== 'string') continue;
    const key = show(value);
    const first = firstAt.get(key);
    if (first === undefined) firstAt.set(key, path);
    else {
      const message = `${quote(key)} is already used by ${formatPath(first)}; it must be unique ${scope}`;
      problems.push({ path, message });
    }
  }
  return problems;
}

function keyIdOf(key: string): string {
  return parseApiKey(key)?.keyId ?? '';
}

function failsafeProblems(connectors: readonly Found[]): FieldProblem[] {
  return connectors.flatMap((connector) => {
    const failsafe = collect(connector, ['failsafeA'])[0];
    const maximum = collect(connector, ['maxCurrentA'])[0];
    if (typeof failsafe?.value !== 'number' || typeof maximum?.value !== 'number') return [];
    if (failsafe.value <= maximum.value) return [];
    const message = `is ${failsafe.value}; must be at most maxCurrentA (${maximum.value}), in A per phase`;
    return [{ path: failsafe.path, message }];
  });
}

/** @param group a location or a charger: a heartbeat and a lease go together */
function timingProblems(group: Found): FieldProblem[] {
  const heartbeat = collect(group, ['heartbeatS'])[0];
  const lease = collect(group, ['leaseTtlS'])[0];
  if (heartbeat === undefined && lease === undefined) return [];
  if (heartbeat === undefined || lease === undefined) {
    const missing = heartbeat === undefined ? 'heartbeatS' : 'leaseTtlS';
    return [{ path: [...group.path, missing], message: 'is missing; heartbeatS and leaseTtlS go together' }];
  }
  if (typeof heartbeat.value !== 'number' || typeof lease.value !== 'number') return [];
  if (lease.value >= LEASE_OUTLASTS_HEARTBEATS * heartbeat.value) return [];
  const leastS = LEASE_OUTLASTS_HEARTBEATS * heartbeat.value;
  const message = `is ${lease.value}; must be at least ${leastS}, because a lease must outlast three heartbeats of ${heartbeat.value} s`;
  return [{ path: lease.path, message }];
}

/** For DC connectors, in kW at the car: compares their minimum and their fail-safe with their maximum. */
function dcProblems(connectors: readonly Found[]): FieldProblem[] {
  return connectors.flatMap((connector) => {
    const [minimum, maximum, failsafe] = ['minPowerKw', 'maxPowerKw', 'failsafeKw'].map(
      (field) => collect(connector, [field])[0],
    );
    if (typeof maximum?.value !== 'number') return [];
    const most = maximum.value;
    const least = typeof minimum?.value === 'number' ? minimum.value : 0;
    const problems: FieldProblem[] = [];
    if (minimum !== undefined && least > most)
      problems.push({ path: minimum.path, message: `is ${least}; must be at most maxPowerKw (${most})` });
    if (typeof failsafe?.value !== 'number') return problems;
    const { path, value } = failsafe;
    if (value > most) problems.push({ path, message: `is ${value}; must be at most maxPowerKw (${most})` });
    else if (value !== 0 && value < least)
      problems.push({ path, message: `is ${value}; must be 0, or from minPowerKw (${least}) up` });
    return problems;
  });
}

function gatewayProblems(tenant: Found, chargers: readonly Found[]): FieldProblem[] {
  const known = new Set(chargers.map(({ value }) => value));
  const named = collect(tenant, ['gateways', '*', 'controllers', '*']);
  return named
    .filter(({ value }) => typeof value === 'string' && !known.has(value))
    .map(({ path, value }) => ({
      path,
      message: `is "${value}"; must be the controllerUuid of a charger of this tenant in this file`,
    }));
}

function tenantProblems(tenant: Found): FieldProblem[] {
  const chargers = collect(tenant, ['locations', '*', 'chargers', '*', 'controllerUuid']);
  const logins = [
    ...chargers,
    ...collect(tenant, ['gateways', '*', 'gatewayId']),
    ...Object.entries(SITE_LOGIN_IDS).flatMap(([field, id]) =>
      collect(tenant, ['locations', '*', field, id]),
    ),
  ];
  return [
    ...duplicates(collect(tenant, ['locations', '*', 'locationId']), 'inside the tenant'),
    ...duplicates(logins, 'inside the tenant'),
    ...gatewayProblems(tenant, chargers),
  ];
}

/** A site meter needs a known rating of the connection: chargers get the rest of it. */
function siteMeterProblems(location: Found): FieldProblem[] {
  const [siteMeter] = collect(location, ['siteMeter']);
  const known = [...collect(location, ['gridLimitKw']), ...collect(location, ['connection'])];
  if (siteMeter === undefined || siteMeter.value === undefined || known.length > 0) return [];
  const message = 'needs gridLimitKw or connection beside it: the capacity of the connection';
  return [{ path: siteMeter.path, message }];
}

/** Departures are times of day, so the location needs a time zone. */
function timeZoneProblems(location: Found): FieldProblem[] {
  const departures = [
    ...collect(location, ['departures', '*']),
    ...collect(location, ['chargers', '*', 'connectors', '*', 'departures', '*']),
  ];
  if (departures.length === 0 || collect(location, ['timeZone']).length > 0) return [];
  const message = 'is missing; departures need the time zone of their location, such as Europe/Berlin';
  return [{ path: [...location.path, 'timeZone'], message }];
}

/** All errors across fields of `document`, the file as plain data of any shape. */
export function crossCheck(document: unknown): readonly FieldProblem[] {
  const root: Found = { path: [], value: document };
  const tenants = collect(root, ['tenants', '*']);
  const locations = collect(root, ['tenants', '*', 'locations', '*']);
  const chargers = locations.flatMap((location) => collect(location, ['chargers', '*']));
  const connectors = chargers.flatMap((charger) => collect(charger, ['connectors', '*']));
  const presetKeys = collect(root, ['tenants', '*', 'apiKeys', '*', 'key']).filter(
    ({ value }) => typeof value === 'string' && parseApiKey(value) !== undefined,
  );
  return [
    ...duplicates(collect(root, ['tenants', '*', 'tenantUuid']), 'in the file'),
    ...duplicates(presetKeys, 'in the file', keyIdOf),
    ...duplicates(collect(root, ['tenants', '*', 'clients', '*', 'clientId']), 'in the file'),
    ...tenants.flatMap(tenantProblems),
    ...chargers.flatMap((charger) =>
      duplicates(collect(charger, ['connectors', '*', 'connectorId']), 'on its charger'),
    ),
    ...locations.flatMap((location) => [
      ...duplicates(collect(location, ['feeders', '*', 'name']), 'inside the location'),
      ...fuseProblems(location),
      ...siteMeterProblems(location),
      ...timeZoneProblems(location),
    ]),
    ...[...locations, ...chargers].flatMap(timingProblems),
    ...failsafeProblems(connectors),
    ...dcProblems(connectors),
  ];
}
