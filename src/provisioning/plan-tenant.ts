// Turns a tenant of a provisioning file into what is stored: secrets hashed, those left out made unless they exist.
import { guaranteedPowerKw } from '../../machines/limits/guaranteed-power.js';
import type { ProvisionedTenant } from '../ports/administration.js';
import type { ApiKeyRecord, MqttLoginRecord, OauthClientRecord } from '../ports/credentials.js';
import { formatApiKey, generateKeyId, generateSecret, hashSecret, parseApiKey } from '../secrets.js';
import type { PresetSecrets } from './preset-secrets.js';
import type { OperatorEntry, TenantEntry } from './provisioning-schema.js';

/** A secret that was made because the file names none: it is shown once and kept nowhere but as a hash. */
export interface IssuedSecret {
  readonly kind: 'api-key' | 'client' | 'charger' | 'gateway' | 'operator';
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

/** Plans one tenant: what its file presets, and what is made because the file leaves it out and nothing is stored. */
class SecretPlan {
  readonly issued: IssuedSecret[] = [];
  readonly #tenantUuid: string;
  readonly #held: HeldCredentials;
  readonly #presets: PresetSecrets;

  constructor(tenantUuid: string, held: HeldCredentials, presets: PresetSecrets) {
    this.#tenantUuid = tenantUuid;
    this.#held = held;
    this.#presets = presets;
  }

  key({ key, scopes, expiresAt }: TenantEntry['apiKeys'][number], position: number) {
    const preset = key === undefined ? undefined : parseApiKey(key);
    const keyId = preset?.keyId ?? generateKeyId(`${this.#tenantUuid}/${position}`);
    const stored = this.#held.apiKeys.find((record) => record.keyId === keyId)?.secretHash;
    const secretHash =
      preset === undefined
        ? (stored ?? this.#issue('api-key', keyId, (secret) => formatApiKey(keyId, secret)))
        : hashSecret(preset.secret);
    return { keyId, secretHash, scopes, expiresAtMs: expiresAt ?? null };
  }

  async client({ clientId, clientSecret, scopes }: TenantEntry['clients'][number]) {
    const stored = this.#held.oauthClients.find((record) => record.clientId === clientId)?.secretHash;
    const secretHash = await this.#password('client', clientId, clientSecret, stored);
    return { clientId, secretHash, scopes };
  }

  /** undefined keeps the password that is stored. */
  async login(
    kind: 'charger' | 'gateway' | 'operator',
    id: string,
    password: string | undefined,
    stored: string | undefined,
  ) {
    const hash = await this.#password(kind, id, password, stored);
    return hash === stored ? undefined : hash;
  }

  async #password(
    kind: IssuedSecret['kind'],
    id: string,
    password: string | undefined,
    stored: string | undefined,
  ): Promise<string> {
    if (password === undefined) return stored ?? this.#issue(kind, id);
    return this.#presets.hashOf(`${this.#tenantUuid}/${kind}/${id}`, password, stored);
  }

  #issue(kind: IssuedSecret['kind'], id: string, format = (secret: string) => secret): string {
    const secret = generateSecret();
    this.issued.push({ kind, id, secret: format(secret) });
    return hashSecret(secret);
  }
}

/**
 * The plan for `entry`. An API key without `key` gets an id made from the tenant and its place in the list, so that
 * the same file finds it again at the next run.
 */
export async function planTenant(
  entry: TenantEntry,
  held: HeldCredentials,
  presets: PresetSecrets,
): Promise<TenantPlan> {
  const { tenantUuid, name, features, apiKeys, clients, locations, gateways } = entry;
  const plan = new SecretPlan(tenantUuid, held, presets);
  const passwords = new Map(held.mqttLogins.map(({ clientId, secretHash }) => [clientId, secretHash]));

  const planChargers = (chargers: TenantEntry['locations'][number]['chargers']) =>
    Promise.all(
      chargers.map(async ({ controllerUuid, mqttPassword, feeder, connectors }) => ({
        controllerUuid,
        feeder: feeder ?? null,
        mqttSecretHash: await plan.login(
          'charger',
          controllerUuid,
          mqttPassword,
          passwords.get(controllerUuid),
        ),
        connectors: connectors.map(({ rotation = null, ...connector }) => ({ ...connector, rotation })),
      })),
    );

  const planOperator = async (
    { mqttPassword, failsafeKw, ...operator }: OperatorEntry,
    chargingPoints: number,
  ) => {
    const stored = passwords.get(operator.operatorUuid);
    const mqttSecretHash = await plan.login('operator', operator.operatorUuid, mqttPassword, stored);
    return { ...operator, failsafeKw: failsafeKw ?? guaranteedPowerKw(chargingPoints), mqttSecretHash };
  };

  const tenant: ProvisionedTenant = {
    tenantUuid,
    name,
    features,
    apiKeys: apiKeys.map((key, position) => plan.key(key, position)),
    oauthClients: await Promise.all(clients.map((client) => plan.client(client))),
    locations: await Promise.all(
      locations.map(async ({ gridLimitKw, operator, connection, feeders, chargers, ...location }) => ({
        ...location,
        gridLimitKw: gridLimitKw ?? null,
        operator: operator === undefined ? null : await planOperator(operator, connectorsOf(chargers)),
        connection: connection ?? null,
        feeders: feeders.map(({ parent, ...feeder }) => ({ ...feeder, parent: parent ?? null })),
        chargers: await planChargers(chargers),
      })),
    ),
    gateways: await Promise.all(
      gateways.map(async ({ gatewayId, mqttPassword, controllers }) => ({
        gatewayId,
        mqttSecretHash: await plan.login('gateway', gatewayId, mqttPassword, passwords.get(gatewayId)),
        controllers,
      })),
    ),
  };
  return { tenant, issued: plan.issued };
}

function connectorsOf(chargers: TenantEntry['locations'][number]['chargers']): number {
  return chargers.reduce((sum, { connectors }) => sum + connectors.length, 0);
}
