// A tenant for measurements: locations, connectors and profiles in a database of its own.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LeaseTiming } from '../../machines/ledger/grant.js';
import type { ConnectorId, ControllerUuid, LocationId, TenantUuid } from '../../machines/values/ids.js';
import { systemClock } from '../../src/clock.js';
import { type Config, databaseUrlOf, loadConfig } from '../../src/config.js';
import { createMetrics } from '../../src/metrics.js';
import { createAdministration } from '../../src/outbound/knex/administration.js';
import { createStore } from '../../src/outbound/knex/store.js';
import type { Log } from '../../src/ports/log.js';
import { ENERGY_MANAGEMENT, SCOPES } from '../../src/ports/records.js';
import type { Change } from '../../src/ports/store.js';
import { formatApiKey, hashSecret } from '../../src/secrets.js';

export const TENANT = '7d0f6a52-5a53-4a6e-9c0d-0d6b1f6f4c11' as TenantUuid;
export const MQTT_SECRET = 'bench-charger-secret';
const KEY_SECRET = 'benchbenchbenchbenchbenchbenchbenchbenchben';

/** Owner of a site, and the first numbers of its locations and chargers. */
export interface SiteOwner {
  readonly tenantUuid: TenantUuid;
  readonly keyId: string;
  readonly firstLocation: number;
  readonly firstCharger: number;
}

const THE_TENANT: SiteOwner = { tenantUuid: TENANT, keyId: 'bench001', firstLocation: 0, firstCharger: 0 };
export const API_KEY = apiKeyOf(THE_TENANT);

export function apiKeyOf({ keyId }: SiteOwner): string {
  return formatApiKey(keyId, KEY_SECRET);
}

export const silentLog: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

export interface Site {
  readonly config: Config;
  remove(): void;
}

/** Settings of a service on free ports over a fresh data directory. */
export function createSite(environment: Readonly<Record<string, string>> = {}): Site {
  const dataDir = mkdtempSync(join(tmpdir(), 'headroom-bench-'));
  const config = loadConfig(
    {},
    {
      HEADROOM_HTTP_PORT: '0',
      HEADROOM_MQTT_PORT: '0',
      HEADROOM_DATA_DIR: dataDir,
      HEADROOM_LOG_LEVEL: 'info',
      HEADROOM_HTTP_RATE_PER_S: '1000000',
      ...environment,
    },
  );
  return { config, remove: () => rmSync(dataDir, { recursive: true, force: true }) };
}

export const locationIdOf = (i: number) => `site-${i}` as LocationId;
export const controllerUuidOf = (i: number) => `charger-${i}` as ControllerUuid;

/** Properties of the locations of a site. */
export interface Shape {
  readonly chargersEach: number;
  readonly permanentLimitKw: number;
  readonly gridLimitKw: number;
  /** Of its chargers; by default that of the service. */
  readonly timing?: LeaseTiming;
  /** A grid operator may limit each location. */
  readonly isOperated?: boolean;
}

const ONE_CHARGER: Shape = { chargersEach: 1, permanentLimitKw: 50, gridLimitKw: 80 };

/** Fills the site's database: `locations` with chargers that have `connectorsEach` connectors, and one API key. */
export async function provision(
  config: Config,
  locations: number,
  connectorsEach: number,
  { chargersEach, permanentLimitKw, gridLimitKw, timing, isOperated = false }: Shape = ONE_CHARGER,
  { tenantUuid, keyId, firstLocation, firstCharger }: SiteOwner = THE_TENANT,
): Promise<void> {
  const administration = await createAdministration({
    databaseUrl: databaseUrlOf(config),
    log: silentLog,
  });
  const mqttSecretHash = hashSecret(MQTT_SECRET);
  await administration.provision(
    {
      tenantUuid,
      name: 'Bench',
      features: [ENERGY_MANAGEMENT],
      apiKeys: [{ id: keyId, secretHash: hashSecret(KEY_SECRET), scopes: [...SCOPES], expiresAtMs: null }],
      oauthClients: [],
      gateways: [],
      locations: Array.from({ length: locations }, (_, i) => ({
        locationId: locationIdOf(firstLocation + i),
        name: `Site ${firstLocation + i}`,
        status: 'ACTIVE' as const,
        permanentLimitKw,
        gridLimitKw,
        operator: isOperated ? operatorOf(firstLocation + i) : null,
        siteMeter: null,
        chargers: Array.from({ length: chargersEach }, (__, n) => ({
          controllerUuid: controllerUuidOf(firstCharger + i * chargersEach + n),
          mqttSecretHash,
          ...(timing === undefined ? {} : { timing }),
          connectors: Array.from({ length: connectorsEach }, (___, k) => ({
            connectorId: String(k + 1) as ConnectorId,
            phases: 3 as const,
            voltageV: 230,
            maxCurrentA: 32,
            status: 'ACTIVE' as const,
            failsafeA: 6,
          })),
        })),
      })),
    },
    { dryRun: false, atMs: systemClock.nowMs() },
  );
  await administration.close();
}

/** It is never lost: its silence would change the limit. */
function operatorOf(i: number) {
  const silenceMs = 24 * 3_600_000;
  return {
    operatorUuid: `operator-${i}`,
    mqttSecretHash: hashSecret(MQTT_SECRET),
    failsafeKw: 10,
    failsafeMinMs: silenceMs,
    missingAfterMs: silenceMs,
  };
}

interface Window {
  readonly startsAtMs: number;
  readonly endsAtMs: number;
  /** By default the limit depends on the priority, so that the priorities are distinguishable. */
  readonly limitKw?: number;
}

/** Writes a profile per location and priority with the window of `windowOf`. */
export async function writeProfiles(
  config: Config,
  locations: number,
  priorities: number,
  windowOf: (priority: number, location: number) => Window,
): Promise<void> {
  const store = await createStore({
    databaseUrl: databaseUrlOf(config),
    clock: systemClock,
    log: silentLog,
    metrics: createMetrics(),
  });
  for (let i = 0; i < locations; i += 100) {
    const changes: Change[] = [];
    for (let k = i; k < Math.min(i + 100, locations); k++) {
      for (let priority = 0; priority < priorities; priority++) {
        const profile = { priority, limitKw: 10 + priority, ...windowOf(priority, k) };
        const target = { kind: 'location', locationId: locationIdOf(k) } as const;
        changes.push({ kind: 'profile.put', target, profile, atMs: systemClock.nowMs() });
      }
    }
    await store.append(TENANT, changes);
  }
  await store.close();
}
