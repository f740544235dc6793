// Preparation of a world: settings, tenants and keys for the first start of its service.
import { horizonMsOf } from '../../machines/ledger/grant.js';
import { type Config, databaseUrlOf, loadConfig } from '../../src/config.js';
import { newTokenKeys } from '../../src/inbound/http/token-keys.js';
import { createAdministration } from '../../src/outbound/knex/administration.js';
import { SCOPES } from '../../src/ports/records.js';
import { provisionFile } from '../../src/provisioning/provision-file.js';
import type { TenantEntry } from '../../src/provisioning/provisioning-schema.js';
import { formatApiKey } from '../../src/secrets.js';

/** One API key per tenant, always the same. */
export function keysOf(tenants: readonly TenantEntry[]): ReadonlyMap<string, string> {
  return new Map(
    tenants.map(({ tenantUuid }, i) => [
      tenantUuid as string,
      formatApiKey(`world${i}`.padEnd(8, '0'), `secret${i}`.padEnd(43, '0')),
    ]),
  );
}

export function configOf(dataDir: string, environment: Readonly<Record<string, string>> = {}): Config {
  return loadConfig(
    {},
    {
      HEADROOM_HTTP_PORT: '0',
      HEADROOM_MQTT_PORT: '0',
      HEADROOM_DATA_DIR: dataDir,
      // The keys are given directly: the service would look at a file every virtual second.
      HEADROOM_TOKEN_KEYS: newTokenKeys(),
      ...environment,
    },
  );
}

export async function provisionWorld(
  config: Config,
  tenants: readonly TenantEntry[],
  keys: ReadonlyMap<string, string>,
): Promise<void> {
  const administration = await createAdministration({ databaseUrl: databaseUrlOf(config) });
  const entries = tenants.map((tenant) => {
    const key = keys.get(tenant.tenantUuid);
    return key === undefined
      ? tenant
      : { ...tenant, apiKeys: [{ key, scopes: [...SCOPES] }, ...tenant.apiKeys] };
  });
  for await (const _ of provisionFile(administration, { tenants: entries }, { dryRun: false, atMs: 0 }));
  await administration.close();
}

/** Reach of the longest lease that a charger of the world may have, ms. */
export function longestHorizonMs(tenants: readonly TenantEntry[], { leaseTtlS, settleS }: Config): number {
  const own = tenants.flatMap(({ locations }) =>
    locations.flatMap(({ chargers }) => chargers.map(({ timing }) => timing?.ttlMs ?? 0)),
  );
  return horizonMsOf({ ttlMs: Math.max(1000 * leaseTtlS, ...own), settleMs: 1000 * settleS });
}
