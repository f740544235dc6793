// The credentials in force, in memory: each look-up is O(1), and a change applies from the next request on.
import type { TenantUuid } from '../../../machines/values/ids.js';
import type {
  ApiKeyRecord,
  CredentialChange,
  CredentialRecord,
  CredentialSet,
  OauthClientRecord,
} from '../../ports/credentials.js';
import { credentialRef } from '../../ports/credentials.js';
import { ENERGY_MANAGEMENT } from '../../ports/records.js';

export interface CredentialDirectory {
  /**
   * Replaces everything but applied changes that `set` does not show yet:
   * it may have been read before they were written.
   */
  replace(set: CredentialSet): void;
  /** Applies a change that is already on disk. */
  apply(change: CredentialChange): void;
  apiKey(keyId: string): ApiKeyRecord | undefined;
  oauthClient(clientId: string): OauthClientRecord | undefined;
  /** The tenant has the Energy Management feature (contract section 5, rule 5). */
  isFeatureEnabled(tenantUuid: TenantUuid): boolean;
}

export function createCredentialDirectory(initial: CredentialSet): CredentialDirectory {
  let current = indexOf(initial);
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
