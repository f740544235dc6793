// Preparation of a world: the folder for its files, and settings, tenants and keys for the first start of its service.
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { horizonMsOf } from '../../machines/power/grant.js';
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

const MEMORY = '/dev/shm';
/** Contains the process id, the same for the worlds of all threads. */
const PREFIX = `headroom-world-${process.pid}-`;

/** Creates a folder, which the caller removes. A world's commits need not outlast the host. */
export function makeWorldFolder(): string {
  return mkdtempSync(join(worldsFolder(), PREFIX));
}

/** Removes the folders that unfinished worlds of this process left behind. */
export function removeWorldFolders(): void {
  const folder = worldsFolder();
  for (const name of readdirSync(folder))
    if (name.startsWith(PREFIX)) rmSync(join(folder, name), { recursive: true, force: true });
}

/** In memory, if the host offers that. If temporary files are in memory already, worlds use that folder: its creator removes it. */
function worldsFolder(): string {
  const temporary = tmpdir();
  return temporary.startsWith(`${MEMORY}/`) || !existsSync(MEMORY) ? temporary : MEMORY;
}
