// Checks across fields: duplicate ids, a gateway for unknown chargers, a fail-safe above the maximum. They use the raw
// document, so that their errors are reported together with those of the shape.

import { parseApiKey } from '../secrets.js';
import { collect, type FieldPath, type FieldProblem, type Found } from './found-fields.js';
import { fuseProblems } from './fuse-checks.js';
import { quote, quotedIfOdd } from './quote.js';

export type { FieldPath, FieldProblem } from './found-fields.js';

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
    ...collect(tenant, ['locations', '*', 'operator', 'operatorUuid']),
    ...collect(tenant, ['locations', '*', 'siteMeter', 'meterUuid']),
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
    ]),
    ...[...locations, ...chargers].flatMap(timingProblems),
    ...failsafeProblems(connectors),
    ...dcProblems(connectors),
  ];
}
