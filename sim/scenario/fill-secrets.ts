// Derives the secrets that a scenario omits from their owners, because a run must be the same each time.
import { SCOPES } from '../../src/ports/records.js';
import type { ProvisioningFile, TenantEntry } from '../../src/provisioning/provisioning-schema.js';
import { formatApiKey, generateKeyId, generateSecret } from '../../src/secrets.js';

function secretOf(...owner: readonly (string | number)[]): string {
  return generateSecret(owner.join('/'));
}

function fillTenant(tenant: TenantEntry): TenantEntry {
  const { tenantUuid, apiKeys, clients, locations, gateways } = tenant;
  const keys = apiKeys.length === 0 ? [{ scopes: [...SCOPES] }] : apiKeys;
  return {
    ...tenant,
    apiKeys: keys.map((entry, i) => ({
      key: formatApiKey(generateKeyId(`${tenantUuid}/${i}`), secretOf(tenantUuid, 'api-key', i)),
      ...entry,
    })),
    clients: clients.map((entry) => ({
      clientSecret: secretOf(tenantUuid, 'client', entry.clientId),
      ...entry,
    })),
    locations: locations.map((location) => ({
      ...location,
      chargers: location.chargers.map((charger) => ({
        mqttPassword: secretOf(tenantUuid, 'charger', charger.controllerUuid),
        ...charger,
      })),
    })),
    gateways: gateways.map((gateway) => ({
      mqttPassword: secretOf(tenantUuid, 'gateway', gateway.gatewayId),
      ...gateway,
    })),
  };
}

/** `file` with a value for every secret, and with an API key of all scopes for each tenant without a key. */
export function fillSecrets({ tenants }: ProvisioningFile): ProvisioningFile {
  return { tenants: tenants.map(fillTenant) };
}
