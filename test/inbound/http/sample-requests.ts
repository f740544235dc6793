// One good request for each endpoint of contract section 4 that needs a credential.
import type { Scope } from '../../../src/ports/records.js';

export interface SampleRequest {
  /** Its number in section 4, or a letter for an extension. */
  readonly number: number | string;
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

const MUTE = { kind: 'OFFLINE', until: '2999-01-01T00:00:00Z' };
const MAIL = { to: ['alarms@receiver.example'] };
const WEBHOOK = { url: 'https://receiver.invalid/events' };
const CREDENTIAL = { name: 'Another', scopes: ['credentials:write'] };

/** Endpoints that answer 201. */
const CREATE: readonly (number | string)[] = [7, 'u', 'x', 'G', 'Q', 'T'];

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

/** Requests of operators beyond the contract. */
export const EXTENSION_SAMPLES: readonly SampleRequest[] = [
  ['a', 'GET', '/v1/locations/quay-1/timeline', 'locations:read'],
  ['b', 'GET', '/v1/locations/quay-1/history', 'locations:read'],
  ['c', 'GET', '/v1/locations/quay-1/power', 'locations:read'],
  ['d', 'GET', '/v1/locations/quay-1/alarms', 'locations:read'],
  ['e', 'GET', '/v1/alarms', 'locations:read'],
  ['f', 'GET', '/v1/chargers/q1-a/connectors/1/schedules', 'locations:read'],
  ['g', 'GET', '/v1/locations', 'locations:read'],
  ['h', 'GET', '/v1/locations/quay-1/live', 'locations:read'],
  ['i', 'DELETE', '/v1/chargers/q1-a/connectors/1/schedules/3', 'chargers:write'],
  ['j', 'DELETE', '/v1/locations/quay-1/schedules/3', 'locations:write'],
  ['k', 'DELETE', '/v1/organizations/schedules/3', 'org:write'],
  ['l', 'GET', '/v1/chargers/q1-a/connectors/1/history', 'locations:read'],
  ['m', 'GET', '/v1/organizations/history', 'org:write'],
  ['n', 'GET', '/v1/locations/quay-1/operator-limit', 'locations:read'],
  [
    'o',
    'PUT',
    '/v1/locations/quay-1/operator-limit',
    'operator:write',
    { source: 'DSO', isActive: true, limitKw: 8.4, sentAt: '2026-06-01T12:00:00Z' },
  ],
  ['p', 'GET', '/v1/locations/quay-1/operator-limit/history', 'locations:read'],
  ['q', 'GET', '/v1/locations/quay-1/site-meter', 'locations:read'],
  [
    'r',
    'PUT',
    '/v1/locations/quay-1/site-meter',
    'meter:write',
    { at: '2026-06-01T12:00:00Z', powerW: 23_400 },
  ],
  ['s', 'GET', '/v1/locations/quay-1', 'locations:read'],
  ['t', 'GET', '/v1/credentials/api-keys', 'credentials:write'],
  ['u', 'POST', '/v1/credentials/api-keys', 'credentials:write', CREDENTIAL],
  ['v', 'DELETE', '/v1/credentials/api-keys/spare-key', 'credentials:write'],
  ['w', 'GET', '/v1/credentials/clients', 'credentials:write'],
  ['x', 'POST', '/v1/credentials/clients', 'credentials:write', CREDENTIAL],
  ['y', 'DELETE', '/v1/credentials/clients/spare-client', 'credentials:write'],
  ['z', 'GET', '/v1/chargers/q1-a/connectors/1/session', 'locations:read'],
  ['A', 'PUT', '/v1/chargers/q1-a/connectors/1/session', 'chargers:write', { priority: 3 }],
  ['B', 'DELETE', '/v1/chargers/q1-a/connectors/1/session', 'chargers:write'],
  ['C', 'GET', '/v1/locations/quay-1/plan', 'locations:read'],
  ['D', 'GET', '/v1/sessions', 'locations:read'],
  ['E', 'GET', '/v1/events', 'locations:read'],
  ['M', 'GET', '/v1/energy', 'locations:read'],
  ['O', 'PUT', '/v1/locations/quay-1/alarms/alarm-1/acknowledgement', 'locations:write', {}],
  ['P', 'GET', '/v1/locations/quay-1/alarm-mutes', 'locations:read'],
  ['Q', 'POST', '/v1/locations/quay-1/alarm-mutes', 'locations:write', MUTE],
  ['R', 'DELETE', '/v1/locations/quay-1/alarm-mutes/mute-1', 'locations:write'],
  ['F', 'GET', '/v1/webhooks', 'credentials:write'],
  ['G', 'POST', '/v1/webhooks', 'credentials:write', WEBHOOK],
  ['H', 'GET', '/v1/webhooks/hook-1', 'credentials:write'],
  ['I', 'PUT', '/v1/webhooks/hook-1', 'credentials:write', WEBHOOK],
  ['J', 'POST', '/v1/webhooks/hook-1/secret', 'credentials:write', {}],
  ['K', 'GET', '/v1/webhooks/hook-1/deliveries', 'credentials:write'],
  ['L', 'POST', '/v1/webhooks/hook-1/replay', 'credentials:write', {}],
  ['N', 'DELETE', '/v1/webhooks/hook-1', 'credentials:write'],
  ['S', 'GET', '/v1/mail-subscriptions', 'credentials:write'],
  ['T', 'POST', '/v1/mail-subscriptions', 'credentials:write', MAIL],
  ['U', 'GET', '/v1/mail-subscriptions/mails-1', 'credentials:write'],
  ['V', 'PUT', '/v1/mail-subscriptions/mails-1', 'credentials:write', MAIL],
  ['W', 'GET', '/v1/mail-subscriptions/mails-1/deliveries', 'credentials:write'],
  ['X', 'POST', '/v1/mail-subscriptions/mails-1/replay', 'credentials:write', {}],
  ['Y', 'DELETE', '/v1/mail-subscriptions/mails-1', 'credentials:write'],
  ['Z', 'GET', '/v1/chargers/q1-a/connectors/1/power', 'locations:read'],
].map((row) => toSample(row as [string, string, string, Scope, object?]));

export const EVERY_SAMPLE = [...SAMPLES, ...EXTENSION_SAMPLES];

function toSample([number, method, path, scope, body]: [
  number | string,
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
      .replace('c-1', '{clusterId}')
      .replace('/schedules/3', '/schedules/{priority}')
      .replace('alarm-1', '{alarmId}')
      .replace('mute-1', '{muteId}')
      .replace('mails-1', '{mailSubscriptionId}')
      .replace('hook-1', '{webhookId}')
      .replace('spare-key', '{keyId}')
      .replace('spare-client', '{clientId}'),
    scope,
    status: CREATE.includes(number) ? 201 : 200,
    ...(body && { body }),
  };
}
