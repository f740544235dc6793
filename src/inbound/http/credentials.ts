// Who may come in, held in memory: every look-up is O(1) and sees a change from the next request on.
import type { TenantUuid } from '../../../machines/values/ids.js';
import type { ApiKeyRecord, CredentialSet, OauthClientRecord } from '../../ports/credentials.js';
import { ENERGY_MANAGEMENT } from '../../ports/records.js';

export interface CredentialDirectory {
  /** Takes the place of everything known before. */
  replace(set: CredentialSet): void;
  apiKey(keyId: string): ApiKeyRecord | undefined;
  oauthClient(clientId: string): OauthClientRecord | undefined;
  /** Whether the tenant has the Energy Management feature (contract section 5, rule 5). */
  isFeatureEnabled(tenantUuid: TenantUuid): boolean;
}

export function createCredentialDirectory(initial: CredentialSet): CredentialDirectory {
  let current = indexOf(initial);
  return {
    replace(set) {
      current = indexOf(set);
    },
    apiKey: (keyId) => current.apiKeys.get(keyId),
    oauthClient: (clientId) => current.oauthClients.get(clientId),
    isFeatureEnabled: (tenantUuid) => current.enabledTenants.has(tenantUuid),
  };
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
