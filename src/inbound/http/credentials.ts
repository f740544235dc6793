// The credentials in force and their last use, in memory: a change applies from the next request on.
import type { TenantUuid } from '../../../machines/values/ids.js';
import type { EpochMs } from '../../../machines/values/time.js';
import type { Cancel, Clock } from '../../ports/clock.js';
import type {
  ApiKeyRecord,
  CredentialChange,
  CredentialKind,
  CredentialRecord,
  CredentialSet,
  CredentialUse,
  OauthClientRecord,
} from '../../ports/credentials.js';
import type { Log } from '../../ports/log.js';
import { ENERGY_MANAGEMENT } from '../../ports/records.js';
import type { Store } from '../../ports/store.js';
import { credentialRef } from '../../secrets.js';

export interface CredentialDirectory {
  /**
   * Replaces everything but applied changes that `set` does not show yet:
   * it may have been read before they were written.
   */
  replace(set: CredentialSet): void;
  /** Applies a change that is already on disk. */
  apply(change: CredentialChange): void;
  /** Forgets everything: another node changes the credentials from now on. */
  clear(): void;
  apiKey(keyId: string): ApiKeyRecord | undefined;
  oauthClient(clientId: string): OauthClientRecord | undefined;
  /** The tenant has the Energy Management feature (contract section 5, rule 5). */
  isFeatureEnabled(tenantUuid: TenantUuid): boolean;
}

const NONE: CredentialSet = { tenants: [], apiKeys: [], oauthClients: [], mqttLogins: [] };

export function createCredentialDirectory(): CredentialDirectory {
  let current = indexOf(NONE);
  /** Changes that were applied here and are in no set that was read since. */
  const unseen = new Map<string, CredentialRecord>();

  function put(credential: CredentialRecord): void {
    if (credential.kind === 'apiKey') current.apiKeys.set(credential.id, apiKeyOf(credential));
    else current.oauthClients.set(credential.id, clientOf(credential));
  }

  function isSeen({ kind, id, endedAtMs }: CredentialRecord): boolean {
    const read =
      kind === 'apiKey' ? current.apiKeys.get(id)?.revokedAtMs : current.oauthClients.get(id)?.disabledAtMs;
    // Undefined: there is no such row. Null: it has not ended.
    return endedAtMs === null ? read !== undefined : typeof read === 'number';
  }

  return {
    replace(set) {
      current = indexOf(set);
      for (const [ref, credential] of unseen) {
        if (isSeen(credential)) unseen.delete(ref);
        else put(credential);
      }
    },
    apply({ type, credential }) {
      const ref = credentialRef(credential);
      if (type === 'forget') {
        // The credential had ended: an older set that still shows it grants nothing.
        unseen.delete(ref);
        return;
      }
      unseen.set(ref, credential);
      put(credential);
    },
    clear() {
      current = indexOf(NONE);
      unseen.clear();
    },
    apiKey: (keyId) => current.apiKeys.get(keyId),
    oauthClient: (clientId) => current.oauthClients.get(clientId),
    isFeatureEnabled: (tenantUuid) => current.enabledTenants.has(tenantUuid),
  };
}

function apiKeyOf({ id, endedAtMs, tenantUuid, secretHash, scopes, expiresAtMs }: CredentialRecord) {
  return { keyId: id, tenantUuid, secretHash, scopes, expiresAtMs, revokedAtMs: endedAtMs };
}

function clientOf({ id, endedAtMs, tenantUuid, secretHash, scopes, expiresAtMs }: CredentialRecord) {
  return { clientId: id, tenantUuid, secretHash, scopes, expiresAtMs, disabledAtMs: endedAtMs };
}

function indexOf(set: CredentialSet) {
  return {
    apiKeys: new Map(set.apiKeys.map((key) => [key.keyId, key])),
    oauthClients: new Map(set.oauthClients.map((client) => [client.clientId, client])),
    enabledTenants: new Set(
      set.tenants
        .filter((tenant) => tenant.features.includes(ENERGY_MANAGEMENT))
        .map((tenant) => tenant.tenantUuid),
    ),
  };
}

// Records the last use of each credential in memory, and writes it in batches.

/** A credential in steady use costs one write in this time, however many requests it signs in. */
const WRITE_EVERY_MS = 60_000;

export class CredentialUses {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #write: Store['noteCredentialUses'];
  /** One entry for each credential that signed in since the start. */
  readonly #last = new Map<string, CredentialUse>();
  readonly #unwritten = new Set<string>();
  #cancel: Cancel | undefined;
  #isStopped = false;

  constructor(parts: {
    readonly clock: Clock;
    readonly log: Log;
    readonly store: Pick<Store, 'noteCredentialUses'>;
  }) {
    this.#clock = parts.clock;
    this.#log = parts.log;
    this.#write = (uses) => parts.store.noteCredentialUses(uses);
  }

  /** Fast, and never fails. */
  note({ kind, id, tenantUuid }: Omit<CredentialUse, 'usedAtMs'>): void {
    const ref = credentialRef({ kind, id });
    this.#last.set(ref, { kind, id, tenantUuid, usedAtMs: this.#clock.nowMs() });
    this.#unwritten.add(ref);
    this.#writeLater();
  }

  /** Last use in this process; undefined if the credential did not sign in here. */
  lastUsedAtMs(kind: CredentialKind, id: string): EpochMs | undefined {
    return this.#last.get(credentialRef({ kind, id }))?.usedAtMs;
  }

  /** Writes the rest. A database that takes no writes does not delay a stop. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel?.();
    await this.#writeAll();
  }

  #writeLater(): void {
    if (this.#isStopped) return;
    this.#cancel ??= this.#clock.after(WRITE_EVERY_MS, () => {
      this.#cancel = undefined;
      void this.#writeAll();
    });
  }

  async #writeAll(): Promise<void> {
    const refs = [...this.#unwritten];
    if (refs.length === 0) return;
    this.#unwritten.clear();
    try {
      await this.#write(refs.flatMap((ref) => this.#last.get(ref) ?? []));
    } catch (error) {
      this.#log.warn({ err: error }, 'the last use of credentials could not be written; trying again');
      for (const ref of refs) this.#unwritten.add(ref);
      this.#writeLater();
    }
  }
}
