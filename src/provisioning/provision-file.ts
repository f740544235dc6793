// Applies a provisioning file: nothing of it if any tenant cannot be applied, else each tenant all or nothing.
import type { EpochMs } from '../../machines/values/time.js';
import type { Administration, ProvisioningAction } from '../ports/administration.js';
import { type IssuedSecret, planTenant, type TenantPlan } from './plan-tenant.js';
import { PresetSecrets } from './preset-secrets.js';
import type { ProvisioningFile, TenantEntry } from './provisioning-schema.js';

/** What became, or in a dry run would become, of one tenant. */
export interface TenantOutcome {
  readonly tenantUuid: string;
  readonly actions: readonly ProvisioningAction[];
  /** Secrets made for it, in a dry run those that would be made anew. */
  readonly issued: readonly IssuedSecret[];
}

async function plan(
  administration: Administration,
  entry: TenantEntry,
  presets: PresetSecrets,
): Promise<TenantPlan> {
  const held = {
    apiKeys: await administration.listApiKeys(entry.tenantUuid),
    oauthClients: await administration.listOauthClients(entry.tenantUuid),
    mqttLogins: await administration.mqttLogins(entry.tenantUuid),
  };
  return planTenant(entry, held, presets);
}

/**
 * Yields each tenant's outcome as soon as it is durable, because the secrets made for it are known nowhere else.
 * @throws AdministrationError before anything is written, where a tenant asks for what is taken.
 */
export async function* provisionFile(
  administration: Administration,
  { tenants }: ProvisioningFile,
  options: { readonly dryRun: boolean; readonly atMs: EpochMs },
): AsyncGenerator<TenantOutcome> {
  const rehearsed: TenantOutcome[] = [];
  const presets = new PresetSecrets();
  for (const entry of tenants) {
    const { tenant, issued } = await plan(administration, entry, presets);
    const actions = await administration.provision(tenant, { ...options, dryRun: true });
    rehearsed.push({ tenantUuid: tenant.tenantUuid, actions, issued });
  }
  if (options.dryRun) {
    yield* rehearsed;
    return;
  }
  for (const entry of tenants) {
    const { tenant, issued } = await plan(administration, entry, presets);
    yield { tenantUuid: tenant.tenantUuid, actions: await administration.provision(tenant, options), issued };
  }
}
