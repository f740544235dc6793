// Turns a tenant of a provisioning file into rows: hashes preset secrets, and generates missing ones.
import { guaranteedPowerKw } from '../../machines/limits/guaranteed-power.js';
import type { ProvisionedTenant } from '../ports/administration.js';
import type { ApiKeyRecord, MqttLoginRecord, OauthClientRecord } from '../ports/credentials.js';
import {
  formatApiKey,
  generateChargerPassword,
  generateKeyId,
  generateSecret,
  hashSecret,
  parseApiKey,
} from '../secrets.js';
import type { PresetSecret } from './preset-secrets.js';
import type { TenantEntry } from './provisioning-schema.js';
import type { OperatorEntry, SiteMeterEntry } from './site-schema.js';

/** A secret that was generated because the file names none. It is shown once, and only its hash is stored. */
export interface IssuedSecret {
  readonly kind: 'api-key' | 'client' | 'charger' | 'gateway' | 'operator' | 'siteMeter';
  readonly id: string;
  readonly secret: string;
}

/** Stored credentials, of any tenant or of this one. */
export interface HeldCredentials {
  readonly apiKeys: readonly ApiKeyRecord[];
  readonly oauthClients: readonly OauthClientRecord[];
  readonly mqttLogins: readonly MqttLoginRecord[];
}

export interface TenantPlan {
  readonly tenant: ProvisionedTenant;
  readonly issued: readonly IssuedSecret[];
}

/** The secrets of one tenant: preset in the file, stored, or else generated. */
class SecretPlan {
  readonly issued: IssuedSecret[] = [];
  readonly #tenantUuid: string;
  readonly #held: HeldCredentials;
  readonly #stored: ReadonlyMap<string, string>;
  readonly #hashes: ReadonlyMap<string, string>;

  constructor(tenantUuid: string, held: HeldCredentials, hashes: ReadonlyMap<string, string>) {
    this.#tenantUuid = tenantUuid;
    this.#held = held;
    this.#stored = storedOf(held);
    this.#hashes = hashes;
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

  client({ clientId, scopes }: TenantEntry['clients'][number]) {
    return { clientId, secretHash: this.#password('client', clientId), scopes };
  }

  /** undefined keeps the stored password. */
  login(kind: 'charger' | 'gateway' | 'operator' | 'siteMeter', id: string): string | undefined {
    const hash = this.#password(kind, id);
    return hash === this.#stored.get(ownerOf(kind, id)) ? undefined : hash;
  }

  #password(kind: IssuedSecret['kind'], id: string): string {
    const owner = ownerOf(kind, id);
    return this.#hashes.get(owner) ?? this.#stored.get(owner) ?? this.#issue(kind, id);
  }

  #issue(kind: IssuedSecret['kind'], id: string, format = (secret: string) => secret): string {
    const secret = kind === 'charger' ? generateChargerPassword() : generateSecret();
    this.issued.push({ kind, id, secret: format(secret) });
    return hashSecret(secret);
  }
}

function ownerOf(kind: IssuedSecret['kind'], id: string): string {
  // Chargers, gateways, operators and meters share one name space of logins: a stored login does not show its kind.
  return `${kind === 'client' ? 'client' : 'login'}/${id}`;
}

function storedOf({ oauthClients, mqttLogins }: HeldCredentials): Map<string, string> {
  return new Map([
    ...oauthClients.map(({ clientId, secretHash }) => [ownerOf('client', clientId), secretHash] as const),
    ...mqttLogins.map(({ clientId, secretHash }) => [ownerOf('charger', clientId), secretHash] as const),
  ]);
}

/** The preset passwords and client secrets of `entry`. */
export function presetsOf(
  { clients, locations, gateways }: TenantEntry,
  held: HeldCredentials,
): readonly PresetSecret[] {
  const stored = storedOf(held);
  const preset = (kind: IssuedSecret['kind'], id: string, password: string | undefined): PresetSecret[] => {
    const owner = ownerOf(kind, id);
    return password === undefined ? [] : [{ owner, password, stored: stored.get(owner) }];
  };
  return [
    ...clients.flatMap(({ clientId, clientSecret }) => preset('client', clientId, clientSecret)),
    ...locations.flatMap(({ operator, siteMeter, chargers }) => [
      ...(operator === undefined ? [] : preset('operator', operator.operatorUuid, operator.mqttPassword)),
      ...(siteMeter === undefined ? [] : preset('siteMeter', siteMeter.meterUuid, siteMeter.mqttPassword)),
      ...chargers.flatMap(({ controllerUuid, mqttPassword }) =>
        preset('charger', controllerUuid, mqttPassword),
      ),
    ]),
    ...gateways.flatMap(({ gatewayId, mqttPassword }) => preset('gateway', gatewayId, mqttPassword)),
  ];
}

/**
 * The plan for `entry`; `hashes` has the hashes of its `presetsOf`. An API key without `key` gets its id from the
 * tenant and its place in the list. So the same file finds it again at the next run.
 */
export function planTenant(
  entry: TenantEntry,
  held: HeldCredentials,
  hashes: ReadonlyMap<string, string>,
): TenantPlan {
  const { tenantUuid, name, features, apiKeys, clients, locations, gateways } = entry;
  const plan = new SecretPlan(tenantUuid, held, hashes);

  const planChargers = (chargers: TenantEntry['locations'][number]['chargers']) =>
    chargers.map(({ controllerUuid, feeder, timing, connectors }) => ({
      controllerUuid,
      timing: timing ?? null,
      feeder: feeder ?? null,
      mqttSecretHash: plan.login('charger', controllerUuid),
      connectors: connectors.map(({ rotation = null, ...connector }) => ({ ...connector, rotation })),
    }));

  const planOperator = (
    { mqttPassword: _, failsafeKw, ...operator }: OperatorEntry,
    chargingPoints: number,
  ) => ({
    ...operator,
    failsafeKw: failsafeKw ?? guaranteedPowerKw(chargingPoints),
    mqttSecretHash: plan.login('operator', operator.operatorUuid),
  });

  const planSiteMeter = ({ mqttPassword: _, ...siteMeter }: SiteMeterEntry) => ({
    ...siteMeter,
    mqttSecretHash: plan.login('siteMeter', siteMeter.meterUuid),
  });

  const planLocations = () =>
    locations.map(
      ({ gridLimitKw, operator, siteMeter, peakShaving, connection, feeders, chargers, ...location }) => ({
        ...location,
        gridLimitKw: gridLimitKw ?? null,
        operator: operator === undefined ? null : planOperator(operator, connectorsOf(chargers)),
        siteMeter: siteMeter === undefined ? null : planSiteMeter(siteMeter),
        peakShaving: peakShaving ?? null,
        connection: connection ?? null,
        feeders: feeders.map(({ parent, ...feeder }) => ({ ...feeder, parent: parent ?? null })),
        chargers: planChargers(chargers),
      }),
    );

  const tenant: ProvisionedTenant = {
    tenantUuid,
    name,
    features,
    apiKeys: apiKeys.map((key, position) => plan.key(key, position)),
    oauthClients: clients.map((client) => plan.client(client)),
    locations: planLocations(),
    gateways: gateways.map(({ gatewayId, controllers }) => ({
      gatewayId,
      mqttSecretHash: plan.login('gateway', gatewayId),
      controllers,
    })),
  };
  return { tenant, issued: plan.issued };
}

function connectorsOf(chargers: TenantEntry['locations'][number]['chargers']): number {
  return chargers.reduce((sum, { connectors }) => sum + connectors.length, 0);
}
