// Brings a tenant to the state of a provisioning file. It deletes no location, charger, connector or credential.
import type { Knex } from 'knex';
import type { ProvisionedTenant, ProvisioningAction } from '../../ports/administration.js';
import type { TenantRow } from './credentials.js';
import { provisionApiKeys, provisionGateways, provisionOauthClients } from './provision-credentials.js';
import { provisionSites } from './provision-sites.js';
import { actionOf } from './provisioning-action.js';
import { markChanged, nextRevision } from './revisions.js';
import { inTransaction } from './transaction.js';

/**
 * Provisions `tenant` in one transaction. A dry run, and a run without changes, leave no trace.
 * @returns the action for every entity
 */
export async function provisionTenant(
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
      ...(await provisionApiKeys(trx, tenant, options.atMs)),
      ...(await provisionOauthClients(trx, tenant, options.atMs)),
      ...(await provisionSites(trx, tenant, options.atMs)),
      ...(await provisionGateways(trx, tenant)),
    ];
    const changed = actions.filter(({ action }) => action !== 'unchanged');
    if (options.dryRun || changed.length === 0) throw undone;
    await markChanged(trx, tenant.tenantUuid, revision, {
      sites: changed.some(isOfSite),
      credentials: changed.some(({ kind }) => kind !== 'location' && kind !== 'connector'),
    });
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
