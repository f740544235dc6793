// Database changes of the command line, beside a running service. Each
// takes a revision, by which the service notices it.
import type { Knex } from 'knex';
import type { TenantUuid } from '../../../machines/values/ids.js';
import {
  endCredential,
  insertCredential,
  loadCredentialsOf,
  loadMqttLogins,
  loadTenants,
  provisionCredentials,
  provisionGateways,
  type TenantRow,
} from '../../features/credentials/rows.js';
import { credentialEvent, eventsOfProvisioning } from '../../features/event-log.js';
import type { NewEvent } from '../../features/events/rows.js';
import { logEvents } from '../../features/store-rows.js';
import type {
  Administration,
  PasswordSeal,
  ProvisionedTenant,
  ProvisioningAction,
} from '../../ports/administration.js';
import type { Log } from '../../ports/log.js';
import { Database } from './database.js';
import { actionOf } from './json-rows.js';
import { markChanged, nextRevision } from './revisions.js';
import { provisionSites } from './sites.js';
import { inSnapshot, inTransaction } from './transaction.js';
import { orUnavailable } from './unavailable.js';

// Brings a tenant to the state of a provisioning file. It deletes no location, charger, connector or credential.

/**
 * Provisions `tenant` in one transaction. A dry run, and a run without changes, leave no trace.
 * @returns the action for every entity
 */
async function provisionTenant(
  knex: Knex,
  tenant: ProvisionedTenant,
  options: { readonly dryRun: boolean; readonly atMs: number },
): Promise<readonly ProvisioningAction[]> {
  let actions: readonly ProvisioningAction[] = [];
  const undone = new Error('nothing is to be kept');
  await inTransaction(knex, async (trx) => {
    const revision = await nextRevision(trx);
    actions = [
      await provisionTenantRow(trx, tenant),
      ...(await provisionCredentials(trx, 'apiKey', tenant, options.atMs)),
      ...(await provisionCredentials(trx, 'client', tenant, options.atMs)),
      ...(await provisionSites(trx, tenant, options.atMs)),
      ...(await provisionGateways(trx, tenant)),
    ];
    const changed = actions.filter(({ action }) => action !== 'unchanged');
    if (options.dryRun || changed.length === 0) throw undone;
    await markChanged(trx, tenant.tenantUuid, revision, {
      sites: changed.some(isOfSite),
      credentials: changed.some(({ kind }) => kind !== 'location' && kind !== 'connector'),
    });
    await logEvents(trx, tenant.tenantUuid, eventsOfProvisioning(tenant, actions, options.atMs));
  }).catch((error: unknown) => {
    if (error !== undone) throw error;
  });
  return actions;
}

/** The change affects rows from which the tenant's actors are built; a new tenant has no actors yet. */
function isOfSite({ action, kind }: ProvisioningAction): boolean {
  return (
    ['location', 'operator', 'siteMeter', 'connector'].includes(kind) ||
    (kind === 'tenant' && action === 'created')
  );
}

async function provisionTenantRow(
  trx: Knex.Transaction,
  { tenantUuid, name, features }: ProvisionedTenant,
): Promise<ProvisioningAction> {
  const row = { tenant_uuid: tenantUuid, name, features: JSON.stringify(features) };
  const stored: TenantRow | undefined = await trx('tenants').where('tenant_uuid', tenantUuid).first();
  const action = actionOf(stored, row);
  if (action === 'created') {
    await trx('tenants').insert({ ...row, sites_revision: 0, credentials_revision: 0 });
  }
  if (action === 'updated') await trx('tenants').where('tenant_uuid', tenantUuid).update(row);
  return { action, kind: 'tenant', id: tenantUuid };
}

/**
 * Opens the database (`sqlite:PATH` or `postgres://…`) and brings its schema up to date. Every function rejects with
 * StoreUnavailableError if the database is locked, full or unreachable.
 */
export async function createAdministration(options: {
  readonly databaseUrl: string;
  readonly log?: Log;
}): Promise<Administration> {
  return administrationOver(await Database.open(options.databaseUrl, options));
}

function administrationOver(database: Database): Administration {
  const { knex } = database;

  /** The commit is noted in the mark before the caller gets its result, as for commits of a service. */
  async function noted<T>(change: Promise<T>): Promise<T> {
    const result = await change;
    await database.notePosition();
    return result;
  }

  return {
    provision: (tenant, settings) => noted(orUnavailable(() => provisionTenant(knex, tenant, settings))),
    listTenants: () => orUnavailable(() => inSnapshot(knex, listTenants)),
    setFeature: (tenantUuid, feature, enabled, atMs) =>
      noted(
        changeCredentials(knex, async (trx, mark) => {
          await mark(tenantUuid);
          const action = await setFeature(trx, tenantUuid, feature, enabled);
          const actions = [{ action, kind: 'feature', id: feature }];
          return eventsOfProvisioning({ tenantUuid, apiKeys: [], oauthClients: [] }, actions, atMs);
        }),
      ),
    addCredential: (credential) =>
      noted(
        changeCredentials(knex, async (trx, mark) => {
          await mark(credential.tenantUuid);
          await insertCredential(trx, credential);
          return [credentialEvent('credential.issued', credential, credential.createdAtMs ?? 0, null)];
        }),
      ),
    endCredential: (kind, id, atMs) =>
      noted(
        changeCredentials(knex, async (trx, mark) => {
          const { tenantUuid, hasEnded } = await endCredential(trx, kind, id, atMs);
          await mark(tenantUuid);
          if (!hasEnded) return [];
          return [credentialEvent('credential.ended', { kind, id, tenantUuid }, atMs, null)];
        }),
      ),
    listCredentials: (kind, tenantUuid) => orUnavailable(() => loadCredentialsOf(knex, kind, tenantUuid)),
    mqttLogins: (tenantUuid) => orUnavailable(() => loadMqttLogins(knex, tenantUuid)),
    passwordSeals: (tenantUuid) => orUnavailable(() => loadPasswordSeals(knex, tenantUuid)),
    keepPasswordSeals: (tenantUuid, seals) => orUnavailable(() => keepPasswordSeals(knex, tenantUuid, seals)),
    close: () => database.close(),
  };
}

async function loadPasswordSeals(knex: Knex, tenantUuid: TenantUuid): Promise<readonly PasswordSeal[]> {
  const row: { seals: string } | undefined = await knex('password_seals')
    .where('tenant_uuid', tenantUuid)
    .first('seals');
  // `keepPasswordSeals` writes this JSON.
  return row === undefined ? [] : (JSON.parse(row.seals) as PasswordSeal[]);
}

async function keepPasswordSeals(
  knex: Knex,
  tenantUuid: TenantUuid,
  seals: readonly PasswordSeal[],
): Promise<void> {
  await knex('password_seals')
    .insert({ tenant_uuid: tenantUuid, seals: JSON.stringify(seals) })
    .onConflict('tenant_uuid')
    .merge();
}

async function listTenants(trx: Knex.Transaction) {
  const tenants = await loadTenants(trx);
  const locations = await countByTenant(trx, 'locations');
  const connectors = await countByTenant(trx, 'connectors');
  return tenants.map((tenant) => ({
    ...tenant,
    locations: locations.get(tenant.tenantUuid) ?? 0,
    connectors: connectors.get(tenant.tenantUuid) ?? 0,
  }));
}

async function countByTenant(trx: Knex.Transaction, table: string): Promise<Map<string, number>> {
  const rows: { tenant_uuid: string; count: number }[] = await trx(table)
    .select('tenant_uuid')
    .count({ count: '*' })
    .groupBy('tenant_uuid');
  return new Map(rows.map((row) => [row.tenant_uuid, row.count]));
}

/**
 * Runs `change` in a transaction, and logs the events that it returns. It calls `mark` for the tenant whose credentials
 * it changes, which fails with AdministrationError for an unknown tenant.
 */
function changeCredentials(
  knex: Knex,
  change: (
    trx: Knex.Transaction,
    mark: (tenantUuid: TenantUuid) => Promise<void>,
  ) => Promise<readonly NewEvent[]>,
): Promise<void> {
  return orUnavailable(() =>
    inTransaction(knex, async (trx) => {
      const revision = await nextRevision(trx);
      const events = await change(trx, (tenantUuid) =>
        markChanged(trx, tenantUuid, revision, { sites: false, credentials: true }),
      );
      for (const event of events) await logEvents(trx, event.tenantUuid, [event]);
    }),
  );
}

async function setFeature(
  trx: Knex.Transaction,
  tenantUuid: TenantUuid,
  feature: string,
  enabled: boolean,
): Promise<ProvisioningAction['action']> {
  const row: TenantRow | undefined = await trx('tenants').where('tenant_uuid', tenantUuid).first('features');
  const features = new Set(row === undefined ? [] : (JSON.parse(row.features) as string[]));
  if (features.has(feature) === enabled) return 'unchanged';
  if (enabled) features.add(feature);
  else features.delete(feature);
  await trx('tenants')
    .where('tenant_uuid', tenantUuid)
    .update({ features: JSON.stringify([...features]) });
  return enabled ? 'created' : 'removed';
}
