// Turns a tenant of a provisioning file into rows: hashes preset secrets, and generates missing ones.
import { guaranteedPowerKw } from '../../machines/limits/guaranteed-power.js';
import { type SiteLoginField, siteLoginsOf } from '../features/provisioned-fields.js';
import type { PasswordSeal, ProvisionedTenant } from '../ports/administration.js';
import type { CredentialRecord, MqttLoginRecord } from '../ports/credentials.js';
import {
  formatApiKey,
  generateChargerPassword,
  generateKeyId,
  generateSecret,
  hashPassword,
  hashSecret,
  isGenerated,
  isHashOutdated,
  isPassword,
  parseApiKey,
  secretIdOf,
} from '../secrets.js';
import type { TenantEntry } from './provisioning-schema.js';

type LocationEntry = TenantEntry['locations'][number];

// Hashes the preset secrets of a provisioning file. A stored hash of the same secret stays, unless it is out of date.

/** A password or client secret in the file, and the stored hash of its owner. */
export interface PresetSecret {
  /** The owner inside its tenant, such as `charger/q1-a`. */
  readonly owner: string;
  readonly password: string;
  readonly stored: string | undefined;
}

/**
 * Few enough that one changed password causes few hashes of others; enough that an unchanged file takes little time.
 */
const SEALED_TOGETHER = 50;

/** The secrets of one tenant in one run. Each slow hash takes long, and a run plans twice. */
export class PresetSecrets {
  readonly #seals: readonly PasswordSeal[];
  readonly #onSlow: (count: number) => void;
  readonly #together: number;
  /** Hash of each preset so far. */
  readonly #hashes = new Map<string, string>();
  readonly #proved = new Set<PasswordSeal>();

  /**
   * @param seals of earlier runs.
   * @param onSlow called with the number of secrets that are about to be hashed one by one.
   * @param together most secrets of one seal.
   */
  constructor(
    seals: readonly PasswordSeal[],
    onSlow: (count: number) => void,
    together: number = SEALED_TOGETHER,
  ) {
    this.#seals = seals;
    this.#onSlow = onSlow;
    this.#together = together;
  }

  /** The hash to store for each owner. */
  async hashesOf(presets: readonly PresetSecret[]): Promise<ReadonlyMap<string, string>> {
    const isNew = (preset: PresetSecret) => !this.#hashes.has(keyOf(preset));
    const chosen = presets.filter(isNew).filter(({ password }) => !isGenerated(password));
    await this.#prove(chosen);
    const slow = chosen.filter(isNew);
    if (slow.length > 0) this.#onSlow(slow.length);
    await Promise.all(
      presets.filter(isNew).map(async (preset) => {
        this.#hashes.set(keyOf(preset), await hashOf(preset));
      }),
    );
    return new Map(presets.map((preset) => [preset.owner, this.#hashes.get(keyOf(preset)) ?? '']));
  }

  /** Seals for the stored hashes; undefined if the earlier seals cover them. */
  async sealsOf(presets: readonly PresetSecret[]): Promise<readonly PasswordSeal[] | undefined> {
    const hashes = await this.hashesOf(presets);
    // Another file may name the owners that this file does not name.
    const isOfOthers = ({ owners }: PasswordSeal) => !owners.some((owner) => hashes.has(owner));
    const kept = this.#seals.filter((seal) => this.#proved.has(seal) || isOfOthers(seal));
    const sealed = new Set(kept.flatMap(({ owners }) => owners));
    const open = presets
      .filter(({ owner, password }) => !sealed.has(owner) && !isGenerated(password))
      .map((preset) => ({ ...preset, stored: hashes.get(preset.owner) }));
    const groups: PresetSecret[][] = [];
    for (let i = 0; i < open.length; i += this.#together) groups.push(open.slice(i, i + this.#together));
    // A seal of one secret proves no more than its own hash.
    const made = groups.filter(({ length }) => length > 1).map(sealOf);
    if (made.length === 0 && kept.length === this.#seals.length) return undefined;
    return [...kept, ...(await Promise.all(made))];
  }

  /** Reuses the stored hashes of all owners in a seal that proves no change. */
  async #prove(presets: readonly PresetSecret[]): Promise<void> {
    const byOwner = new Map(presets.map((preset) => [preset.owner, preset]));
    const prove = async (seal: PasswordSeal) => {
      const sealed = seal.owners.flatMap((owner) => byOwner.get(owner) ?? []);
      if (sealed.length < seal.owners.length || sealed.some(isOutdated)) return;
      if (!(await isPassword(textOf(sealed), seal.hash))) return;
      this.#proved.add(seal);
      for (const preset of sealed) this.#hashes.set(keyOf(preset), preset.stored ?? '');
    };
    await Promise.all(this.#seals.map(prove));
  }
}

function keyOf({ owner, password, stored }: PresetSecret): string {
  return JSON.stringify([owner, password, stored]);
}

function isOutdated({ password, stored }: PresetSecret): boolean {
  return stored === undefined || isHashOutdated(password, stored);
}

async function hashOf({ password, stored }: PresetSecret): Promise<string> {
  if (stored === undefined || !(await isPassword(password, stored))) return hashPassword(password);
  // The same secret keeps its id, so that neither tokens nor connections end.
  return isHashOutdated(password, stored) ? hashPassword(password, secretIdOf(stored)) : stored;
}

async function sealOf(presets: readonly PresetSecret[]): Promise<PasswordSeal> {
  return { owners: presets.map(({ owner }) => owner), hash: await hashPassword(textOf(presets)) };
}

/** A guess by the seal needs all other passwords, and as much work as a guess by the own hash. */
function textOf(presets: readonly PresetSecret[]): string {
  return JSON.stringify(presets.map(({ owner, password, stored }) => [owner, password, stored]));
}

/** A secret that was generated because the file names none. It is shown once, and only its hash is stored. */
export interface IssuedSecret {
  readonly kind: 'api-key' | 'client' | 'charger' | 'gateway' | SiteLoginField;
  readonly id: string;
  readonly secret: string;
}

/** Stored credentials, of any tenant or of this one. */
export interface HeldCredentials {
  readonly apiKeys: readonly CredentialRecord[];
  readonly oauthClients: readonly CredentialRecord[];
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
    const id = preset?.keyId ?? generateKeyId(`${this.#tenantUuid}/${position}`);
    const stored = this.#held.apiKeys.find((record) => record.id === id)?.secretHash;
    const secretHash =
      preset === undefined
        ? (stored ?? this.#issue('api-key', id, (secret) => formatApiKey(id, secret)))
        : hashSecret(preset.secret);
    return { id, secretHash, scopes, expiresAtMs: expiresAt ?? null };
  }

  client({ clientId, scopes }: TenantEntry['clients'][number]) {
    return { id: clientId, secretHash: this.#password('client', clientId), scopes };
  }

  /** undefined keeps the stored password. */
  login(kind: 'charger' | 'gateway' | SiteLoginField, id: string): string | undefined {
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
  // Chargers, gateways, operators, meters and readers share one name space of logins: a stored login does not show its kind.
  return `${kind === 'client' ? 'client' : 'login'}/${id}`;
}

function storedOf({ oauthClients, mqttLogins }: HeldCredentials): Map<string, string> {
  return new Map([
    ...oauthClients.map(({ id, secretHash }) => [ownerOf('client', id), secretHash] as const),
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
    ...locations.flatMap(({ chargers, ...location }) => [
      ...siteLoginsOf(location).flatMap(({ field, id, mqttPassword }) => preset(field, id, mqttPassword)),
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

  const planChargers = (chargers: LocationEntry['chargers']) =>
    chargers.map(({ controllerUuid, feeder, timing, connectors }) => ({
      controllerUuid,
      timing: timing ?? null,
      feeder: feeder ?? null,
      mqttSecretHash: plan.login('charger', controllerUuid),
      connectors: connectors.map(({ rotation = null, ...connector }) => ({ ...connector, rotation })),
    }));

  const planOperator = (
    { mqttPassword: _, failsafeKw, ...operator }: NonNullable<LocationEntry['operator']>,
    chargingPoints: number,
  ) => ({
    ...operator,
    failsafeKw: failsafeKw ?? guaranteedPowerKw(chargingPoints),
    mqttSecretHash: plan.login('operator', operator.operatorUuid),
  });

  const planSiteMeter = ({ mqttPassword: _, ...siteMeter }: NonNullable<LocationEntry['siteMeter']>) => ({
    ...siteMeter,
    mqttSecretHash: plan.login('siteMeter', siteMeter.meterUuid),
  });

  const planReader = ({ readerUuid }: NonNullable<LocationEntry['reader']>) => ({
    readerUuid,
    mqttSecretHash: plan.login('reader', readerUuid),
  });

  const planLocations = () =>
    locations.map(
      ({ gridLimitKw, operator, siteMeter, reader, connection, feeders, chargers, ...location }) => ({
        ...location,
        gridLimitKw: gridLimitKw ?? null,
        operator: operator === undefined ? null : planOperator(operator, connectorsOf(chargers)),
        siteMeter: siteMeter === undefined ? null : planSiteMeter(siteMeter),
        reader: reader === undefined ? null : planReader(reader),
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

function connectorsOf(chargers: LocationEntry['chargers']): number {
  return chargers.reduce((sum, { connectors }) => sum + connectors.length, 0);
}
