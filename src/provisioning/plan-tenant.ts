// Turns a tenant of a provisioning file into what is stored: secrets hashed, those left out made unless they exist.
import type { ProvisionedTenant } from '../ports/administration.js';
import type { ApiKeyRecord, MqttLoginRecord, OauthClientRecord } from '../ports/credentials.js';
import { formatApiKey, generateKeyId, generateSecret, hashSecret, parseApiKey } from '../secrets.js';
import type { TenantEntry } from './provisioning-schema.js';

/** A secret that was made because the file names none: it is shown once and kept nowhere but as a hash. */
export interface IssuedSecret {
  readonly kind: 'api-key' | 'client' | 'charger' | 'gateway';
  readonly id: string;
  readonly secret: string;
}

/** Credentials that are stored already, of any tenant or of this one. */
export interface HeldCredentials {
  readonly apiKeys: readonly ApiKeyRecord[];
  readonly oauthClients: readonly OauthClientRecord[];
  readonly mqttLogins: readonly MqttLoginRecord[];
}

export interface TenantPlan {
  readonly tenant: ProvisionedTenant;
  readonly issued: readonly IssuedSecret[];
}

/**
 * The plan for `entry`. An API key without `key` gets an id made from the tenant and its place in the list, so that
 * the same file finds it again at the next run.
 */
export function planTenant(entry: TenantEntry, held: HeldCredentials): TenantPlan {
  const issued: IssuedSecret[] = [];
  const withPassword = new Set(held.mqttLogins.map(({ clientId }) => clientId));
  const { tenantUuid, name, features, apiKeys, clients, locations, gateways } = entry;

  function issue(kind: IssuedSecret['kind'], id: string, format = (secret: string) => secret): string {
    const secret = generateSecret();
    issued.push({ kind, id, secret: format(secret) });
    return hashSecret(secret);
  }

  function planKey({ key, scopes, expiresAt }: TenantEntry['apiKeys'][number], position: number) {
    const preset = key === undefined ? undefined : parseApiKey(key);
    const keyId = preset?.keyId ?? generateKeyId(`${tenantUuid}/${position}`);
    const stored = held.apiKeys.find((record) => record.keyId === keyId)?.secretHash;
    const secretHash =
      preset === undefined
        ? (stored ?? issue('api-key', keyId, (secret) => formatApiKey(keyId, secret)))
        : hashSecret(preset.secret);
    return { keyId, secretHash, scopes, expiresAtMs: expiresAt ?? null };
  }

  function planClient({ clientId, clientSecret, scopes }: TenantEntry['clients'][number]) {
    const stored = held.oauthClients.find((record) => record.clientId === clientId)?.secretHash;
    const secretHash =
      clientSecret === undefined ? (stored ?? issue('client', clientId)) : hashSecret(clientSecret);
    return { clientId, secretHash, scopes };
  }

  /** undefined keeps the password that is stored. */
  function planPassword(kind: 'charger' | 'gateway', id: string, password: string | undefined) {
    if (password !== undefined) return hashSecret(password);
    return withPassword.has(id) ? undefined : issue(kind, id);
  }

  const tenant: ProvisionedTenant = {
    ...{ tenantUuid, name, features },
    apiKeys: apiKeys.map(planKey),
    oauthClients: clients.map(planClient),
    locations: locations.map(({ gridLimitKw, chargers, ...location }) => ({
      ...location,
      gridLimitKw: gridLimitKw ?? null,
      chargers: chargers.map(({ controllerUuid, mqttPassword, connectors }) => ({
        controllerUuid,
        mqttSecretHash: planPassword('charger', controllerUuid, mqttPassword),
        connectors,
      })),
    })),
    gateways: gateways.map(({ gatewayId, mqttPassword, controllers }) => ({
      gatewayId,
      mqttSecretHash: planPassword('gateway', gatewayId, mqttPassword),
      controllers,
    })),
  };
  return { tenant, issued };
}
