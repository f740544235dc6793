// Applies a provisioning file: nothing of it if any tenant cannot be applied, else each tenant all or nothing.
import type { EpochMs } from '../../machines/values/time.js';
import type { Administration, ProvisioningAction } from '../ports/administration.js';
import {
  type HeldCredentials,
  type IssuedSecret,
  type PresetSecret,
  PresetSecrets,
  planTenant,
  presetsOf,
} from './plan-tenant.js';
import type { ProvisioningFile, TenantEntry } from './provisioning-schema.js';

/** The result for one tenant; in a dry run the expected one. */
export interface TenantOutcome {
  readonly tenantUuid: string;
  readonly actions: readonly ProvisioningAction[];
  /** Secrets generated for it; a dry run generates others than the real run. */
  readonly issued: readonly IssuedSecret[];
}

interface Options {
  readonly dryRun: boolean;
  readonly atMs: EpochMs;
  /** Called with the number of secrets that are about to be hashed one by one. */
  readonly onSlow?: (count: number) => void;
  /** Called with a tenant's new secrets before any of it is stored. It throws to leave the tenant as it was. */
  readonly keepSecrets?: (tenantUuid: string, issued: readonly IssuedSecret[]) => void;
}

/** One tenant of the file, before and after it is applied. */
class TenantRun {
  readonly #administration: Administration;
  readonly #entry: TenantEntry;
  readonly #secrets: PresetSecrets;
  #presets: readonly PresetSecret[] = [];

  private constructor(administration: Administration, entry: TenantEntry, secrets: PresetSecrets) {
    this.#administration = administration;
    this.#entry = entry;
    this.#secrets = secrets;
  }

  static async begin(
    administration: Administration,
    entry: TenantEntry,
    onSlow: (count: number) => void,
  ): Promise<TenantRun> {
    const seals = await administration.passwordSeals(entry.tenantUuid);
    return new TenantRun(administration, entry, new PresetSecrets(seals, onSlow));
  }

  async provision({ dryRun, atMs, keepSecrets }: Options): Promise<TenantOutcome> {
    const held = await this.#held();
    this.#presets = presetsOf(this.#entry, held);
    const hashes = await this.#secrets.hashesOf(this.#presets);
    const { tenant, issued } = planTenant(this.#entry, held, hashes);
    // After a crash here the file holds secrets that the next run stores; a
    // secret is never stored before it is in the file.
    if (!dryRun && issued.length > 0) keepSecrets?.(tenant.tenantUuid, issued);
    const actions = await this.#administration.provision(tenant, { dryRun, atMs });
    return { tenantUuid: tenant.tenantUuid, actions, issued };
  }

  /** Saves the next run the slow hashes of the provisioned secrets. */
  async seal(): Promise<void> {
    const seals = await this.#secrets.sealsOf(this.#presets);
    if (seals !== undefined) await this.#administration.keepPasswordSeals(this.#entry.tenantUuid, seals);
  }

  async #held(): Promise<HeldCredentials> {
    const { tenantUuid } = this.#entry;
    return {
      apiKeys: await this.#administration.listCredentials('apiKey', tenantUuid),
      oauthClients: await this.#administration.listCredentials('client', tenantUuid),
      mqttLogins: await this.#administration.mqttLogins(tenantUuid),
    };
  }
}

/**
 * Yields each tenant's outcome as soon as it is durable, because its new secrets exist nowhere else.
 * @throws AdministrationError before any write, if a tenant needs an id that is taken.
 */
export async function* provisionFile(
  administration: Administration,
  { tenants }: ProvisioningFile,
  options: Options,
): AsyncGenerator<TenantOutcome> {
  const runs: TenantRun[] = [];
  const rehearsed: TenantOutcome[] = [];
  for (const entry of tenants) {
    const run = await TenantRun.begin(administration, entry, options.onSlow ?? (() => {}));
    runs.push(run);
    rehearsed.push(await run.provision({ ...options, dryRun: true }));
  }
  if (options.dryRun) {
    yield* rehearsed;
    return;
  }
  for (const run of runs) {
    yield await run.provision(options);
    await run.seal();
  }
}
