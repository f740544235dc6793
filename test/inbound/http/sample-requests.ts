// One good request for each endpoint of contract section 4 that needs a credential.
import type { Scope } from '../../../src/ports/records.js';

export interface SampleRequest {
  readonly number: number;
  readonly method: string;
  /** The path with its parameters filled in, and as OpenAPI writes it. */
  readonly path: string;
  readonly pattern: string;
  readonly scope: Scope;
  readonly status: number;
  readonly body?: object;
}

export const WINDOW = {
  startTime: '2026-06-01T17:00:00Z',
  endTime: '2026-06-01T18:00:00Z',
  limitKw: 22,
  priority: 3,
};

export const SAMPLES: readonly SampleRequest[] = [
  [1, 'POST', '/v1/chargers/q1-a/connectors/1/schedules', 'chargers:write', WINDOW],
  [2, 'POST', '/v1/locations/quay-1/schedules', 'locations:write', WINDOW],
  [3, 'PUT', '/v1/locations/quay-1/limit', 'locations:write', { limitKw: 40 }],
  [4, 'GET', '/v1/locations/quay-1/limits', 'locations:read'],
  [5, 'POST', '/v1/organizations/schedules', 'org:write', WINDOW],
  [6, 'GET', '/v1/organizations/limits', 'org:write'],
  [7, 'POST', '/v1/clusters', 'clusters:write', { name: 'Harbour', locationIds: ['quay-1'] }],
  [8, 'GET', '/v1/clusters', 'clusters:read'],
  [9, 'GET', '/v1/clusters/c-1', 'clusters:read'],
  [10, 'PATCH', '/v1/clusters/c-1', 'clusters:write', { limitKw: null }],
  [11, 'DELETE', '/v1/clusters/c-1', 'clusters:write'],
  [12, 'DELETE', '/v1/clusters/c-1/locations/quay-1', 'clusters:write'],
  [13, 'POST', '/v1/clusters/c-1/schedules', 'clusters:write', WINDOW],
].map((row) => toSample(row as [number, string, string, Scope, object?]));

function toSample([number, method, path, scope, body]: [
  number,
  string,
  string,
  Scope,
  object?,
]): SampleRequest {
  return {
    number,
    method,
    path,
    pattern: path
      .replace('q1-a', '{controllerUuid}')
      .replace('/connectors/1', '/connectors/{connectorId}')
      .replace('quay-1', '{locationId}')
      .replace('c-1', '{clusterId}'),
    scope,
    status: number === 7 ? 201 : 200,
    ...(body && { body }),
  };
}
