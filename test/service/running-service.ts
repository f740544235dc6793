// A whole service for tests: real SQLite file, real HTTP and MQTT on free ports, a provisioned tenant or two.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ConnectorId, ControllerUuid, LocationId, TenantUuid } from '../../machines/values/ids.js';
import { systemClock } from '../../src/clock.js';
import { type Config, databaseUrlOf, loadConfig } from '../../src/config.js';
import { createMetrics, type Metrics } from '../../src/metrics.js';
import { createAdministration } from '../../src/outbound/knex/administration.js';
import type { ProvisionedTenant } from '../../src/ports/administration.js';
import type { Log } from '../../src/ports/log.js';
import { ENERGY_MANAGEMENT, SCOPES } from '../../src/ports/records.js';
import { formatApiKey, hashSecret } from '../../src/secrets.js';
import { type Seams, Service } from '../../src/service.js';
import { fetchOnce } from '../fetch-once.js';

export const HARBOUR = '0b6cf0c4-6d0f-4e0e-9f0a-5f6c3b1d2a10' as TenantUuid;
export const RIVAL = '5d1f2a77-9b1e-4c43-8a55-0f7c9b9d3e21' as TenantUuid;
export const CHARGER_PASSWORD = 'a charger knows this';

/** The tenant's API key, whose id is part of the tenant's. */
export function apiKeyOf(tenantUuid: TenantUuid): string {
  return formatApiKey(tenantUuid.slice(0, 8), `secret${tenantUuid.replaceAll('-', '')}`);
}

interface SiteOptions {
  readonly status?: 'ACTIVE' | 'INACTIVE';
  readonly permanentLimitKw?: number;
  readonly connectorStatus?: 'ACTIVE' | 'INACTIVE';
}

/** A location `id` with one charger `${id}-a` that has connectors "1" and "2". */
export function site(id: string, options: SiteOptions = {}): ProvisionedTenant['locations'][number] {
  return {
    locationId: id as LocationId,
    name: `The ${id}`,
    status: options.status ?? 'ACTIVE',
    permanentLimitKw: options.permanentLimitKw ?? 50,
    gridLimitKw: 80,
    operator: null,
    siteMeter: null,
    chargers: [
      {
        controllerUuid: `${id}-a` as ControllerUuid,
        mqttSecretHash: hashSecret(CHARGER_PASSWORD),
        connectors: ['1', '2'].map((connectorId) => ({
          connectorId: connectorId as ConnectorId,
          phases: 3,
          voltageV: 230,
          maxCurrentA: 32,
          status: options.connectorStatus ?? 'ACTIVE',
          failsafeA: 6,
        })),
      },
    ],
  };
}

/** The id of the tenant's spare key and spare client. No request uses them, so tests may end them. */
export function spareOf(tenantUuid: TenantUuid): string {
  return `S${tenantUuid.slice(1, 8)}`;
}

/** A tenant with the Energy Management feature, credentials with every scope, and these locations. */
export function tenantWith(
  tenantUuid: TenantUuid,
  locations: ProvisionedTenant['locations'],
): ProvisionedTenant {
  const secretHash = hashSecret(`secret${tenantUuid.replaceAll('-', '')}`);
  return {
    tenantUuid,
    name: 'A tenant',
    features: [ENERGY_MANAGEMENT],
    apiKeys: [tenantUuid.slice(0, 8), spareOf(tenantUuid)].map((id) => ({
      id,
      secretHash,
      scopes: [...SCOPES],
      expiresAtMs: null,
    })),
    oauthClients: [`client-${tenantUuid.slice(0, 8)}`, spareOf(tenantUuid)].map((id) => ({
      id,
      secretHash: hashSecret('client secret'),
      scopes: [...SCOPES],
    })),
    locations,
    gateways: [],
  };
}

export const silentLog: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** An answer with its body parsed. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface RequestParts {
  readonly headers?: Readonly<Record<string, string>>;
  /** A string is sent as it is, other bodies as JSON. */
  readonly body?: unknown;
}

export interface RunningService {
  readonly service: Service;
  readonly config: Config;
  readonly metrics: Metrics;
  readonly httpUrl: string;
  readonly mqttUrl: string;
  /** A request with the tenant's API key (HARBOUR by default); `path` begins after `/v1`. */
  call(method: string, path: string, body?: unknown, tenantUuid?: TenantUuid): Promise<Answer>;
  /** A request with these headers and no other credential; `path` begins after `/v1`. */
  send(method: string, path: string, request?: RequestParts): Promise<Answer>;
  stop(): Promise<void>;
  /** Stops the service, runs `whileDown`, and starts a new service on the same data. */
  restart(seams?: Seams, whileDown?: () => Promise<void>): Promise<RunningService>;
}

const DAY_MS = 86_400_000;

/** Writes the rows of a provisioning file into the database of `config`, as of yesterday. */
export function provision(config: Config, ...tenants: readonly ProvisionedTenant[]): Promise<void> {
  return provisionAt(Date.now() - DAY_MS, config, ...tenants);
}

/** The same, as of `atMs`. */
export async function provisionAt(
  atMs: number,
  config: Config,
  ...tenants: readonly ProvisionedTenant[]
): Promise<void> {
  const administration = await createAdministration({ databaseUrl: databaseUrlOf(config), log: silentLog });
  for (const tenant of tenants) await administration.provision(tenant, { dryRun: false, atMs });
  await administration.close();
}

export async function runService(
  tenants: readonly ProvisionedTenant[],
  seams: Seams = {},
  environment: Readonly<Record<string, string>> = {},
): Promise<RunningService> {
  const dataDir = mkdtempSync(join(tmpdir(), 'headroom-test-'));
  const config = loadConfig(
    {},
    { HEADROOM_HTTP_PORT: '0', HEADROOM_MQTT_PORT: '0', HEADROOM_DATA_DIR: dataDir, ...environment },
  );
  const { clock = systemClock } = seams;
  await provisionAt(Math.max(0, clock.nowMs() - DAY_MS), config, ...tenants);
  return startOn(config, seams, () => rmSync(dataDir, { recursive: true, force: true }));
}

async function startOn(config: Config, seams: Seams, remove: () => void): Promise<RunningService> {
  const metrics = seams.metrics ?? createMetrics();
  const service = new Service(config, { log: silentLog, ...seams, metrics });
  const { httpUrl, mqttUrl } = await service.start();

  async function send(method: string, path: string, { headers, body }: RequestParts = {}): Promise<Answer> {
    const response = await fetchOnce(`${httpUrl}/v1${path}`, {
      method,
      headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: text === '' ? {} : JSON.parse(text) };
  }

  return {
    service,
    config,
    metrics,
    httpUrl,
    mqttUrl,
    call: (method, path, body, tenantUuid = HARBOUR) =>
      send(method, path, { headers: { 'x-api-key': apiKeyOf(tenantUuid) }, body }),
    send,
    async stop() {
      await service.stop();
      remove();
    },
    async restart(newSeams = {}, whileDown = async () => {}) {
      await service.stop();
      await whileDown();
      return startOn(config, newSeams, remove);
    },
  };
}
