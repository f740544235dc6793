// Tenants, their keys, clients and MQTT logins, as rows: secrets are hashes already.
import type { Knex } from 'knex';
import type { ControllerUuid, LocationId, TenantUuid } from '../../../machines/values/ids.js';
import type { EpochMs } from '../../../machines/values/time.js';
import { engineOf } from '../../outbound/knex/engine.js';
import {
  actionOf,
  type Columns,
  jsonRows,
  type KeyedTable,
  putRows,
  type RowOf,
} from '../../outbound/knex/json-rows.js';
import {
  AdministrationError,
  type ProvisionedTenant,
  type ProvisioningAction,
} from '../../ports/administration.js';
import type {
  ApiKeyRecord,
  CredentialChange,
  CredentialKind,
  CredentialRecord,
  CredentialSet,
  CredentialUse,
  MqttLoginRecord,
  OauthClientRecord,
} from '../../ports/credentials.js';
import type { Scope, TenantRecord } from '../../ports/records.js';

export interface TenantRow {
  readonly tenant_uuid: TenantUuid;
  readonly name: string;
  /** JSON list of text. */
  readonly features: string;
}

interface ApiKeyRow {
  readonly tenant_uuid: TenantUuid;
  readonly key_id: string;
  readonly secret_hash: string;
  /** JSON list of scopes. */
  readonly scopes: string;
  readonly expires_at_ms: number | null;
  readonly revoked_at_ms: number | null;
}

interface OauthClientRow {
  readonly tenant_uuid: TenantUuid;
  readonly client_id: string;
  readonly secret_hash: string;
  /** JSON list of scopes. */
  readonly scopes: string;
  readonly disabled_at_ms: number | null;
  readonly expires_at_ms: number | null;
}

interface LoginRow {
  readonly tenant_uuid: TenantUuid;
  readonly client_id: string;
  readonly mqtt_secret_hash: string;
  /** Null for a gateway without controllers. */
  readonly location_id: LocationId | null;
  readonly controller_uuid: ControllerUuid | null;
}

const API_KEYS = {
  name: 'api_keys',
  key: ['tenant_uuid', 'key_id'],
  columns: {
    tenant_uuid: 'text',
    key_id: 'text',
    secret_hash: 'text',
    scopes: 'text',
    expires_at_ms: 'bigint',
    revoked_at_ms: 'bigint',
  },
} as const satisfies KeyedTable<Columns>;

const OAUTH_CLIENTS = {
  name: 'oauth_clients',
  key: ['tenant_uuid', 'client_id'],
  columns: {
    tenant_uuid: 'text',
    client_id: 'text',
    secret_hash: 'text',
    scopes: 'text',
    disabled_at_ms: 'bigint',
  },
} as const satisfies KeyedTable<Columns>;

/** All credentials of all tenants. */
export async function loadCredentials(trx: Knex.Transaction): Promise<CredentialSet> {
  return {
    tenants: await loadTenants(trx),
    apiKeys: await loadApiKeys(trx),
    oauthClients: await loadOauthClients(trx),
    mqttLogins: await loadMqttLogins(trx),
  };
}

/** Every tenant, by id. */
export async function loadTenants(knex: Knex): Promise<TenantRecord[]> {
  const rows: TenantRow[] = await knex('tenants')
    .select('tenant_uuid', 'name', 'features')
    .orderBy('tenant_uuid');
  return rows.map((row) => ({
    tenantUuid: row.tenant_uuid,
    name: row.name,
    features: JSON.parse(row.features) as string[],
  }));
}

/** The API keys of one tenant, or of all. */
export async function loadApiKeys(knex: Knex, tenantUuid?: TenantUuid): Promise<ApiKeyRecord[]> {
  const rows: ApiKeyRow[] = await knex('api_keys')
    .where(ofTenant(tenantUuid))
    .select(...Object.keys(API_KEYS.columns))
    .orderBy(['tenant_uuid', 'key_id']);
  return rows.map((row) => ({
    keyId: row.key_id,
    tenantUuid: row.tenant_uuid,
    secretHash: row.secret_hash,
    scopes: JSON.parse(row.scopes) as Scope[],
    expiresAtMs: row.expires_at_ms,
    revokedAtMs: row.revoked_at_ms,
  }));
}

export function apiKeyRow(key: ApiKeyRecord): RowOf<typeof API_KEYS.columns> {
  return {
    tenant_uuid: key.tenantUuid,
    key_id: key.keyId,
    secret_hash: key.secretHash,
    scopes: JSON.stringify(key.scopes),
    expires_at_ms: key.expiresAtMs,
    revoked_at_ms: key.revokedAtMs,
  };
}

/** The OAuth clients of one tenant, or of all. */
export async function loadOauthClients(knex: Knex, tenantUuid?: TenantUuid): Promise<OauthClientRecord[]> {
  const rows: OauthClientRow[] = await knex('oauth_clients')
    .where(ofTenant(tenantUuid))
    .select(...Object.keys(OAUTH_CLIENTS.columns), 'expires_at_ms')
    .orderBy(['tenant_uuid', 'client_id']);
  return rows.map((row) => ({
    clientId: row.client_id,
    tenantUuid: row.tenant_uuid,
    secretHash: row.secret_hash,
    scopes: JSON.parse(row.scopes) as Scope[],
    expiresAtMs: row.expires_at_ms,
    disabledAtMs: row.disabled_at_ms,
  }));
}

export function oauthClientRow(
  client: Omit<OauthClientRecord, 'expiresAtMs'>,
): RowOf<typeof OAUTH_CLIENTS.columns> {
  return {
    tenant_uuid: client.tenantUuid,
    client_id: client.clientId,
    secret_hash: client.secretHash,
    scopes: JSON.stringify(client.scopes),
    disabled_at_ms: client.disabledAtMs,
  };
}

/** Logins of chargers, gateways, grid operators and site meters with a password, of one tenant or of all. */
export async function loadMqttLogins(knex: Knex, tenantUuid?: TenantUuid): Promise<MqttLoginRecord[]> {
  const chargers: LoginRow[] = await knex('chargers')
    .where(ofTenant(tenantUuid))
    .whereNotNull('mqtt_secret_hash')
    .select('tenant_uuid', 'controller_uuid as client_id', 'mqtt_secret_hash')
    .select('location_id', 'controller_uuid')
    .orderBy(['tenant_uuid', 'controller_uuid']);
  const gateways: LoginRow[] = await knex('gateways as g')
    .leftJoin('gateway_controllers as m', {
      'm.tenant_uuid': 'g.tenant_uuid',
      'm.gateway_id': 'g.gateway_id',
    })
    .leftJoin('chargers as c', {
      'c.tenant_uuid': 'm.tenant_uuid',
      'c.controller_uuid': 'm.controller_uuid',
    })
    .where(ofTenant(tenantUuid, 'g.'))
    .whereNotNull('g.mqtt_secret_hash')
    .select('g.tenant_uuid', 'g.gateway_id as client_id', 'g.mqtt_secret_hash')
    .select('c.location_id', 'c.controller_uuid')
    .orderBy(['g.tenant_uuid', 'g.gateway_id', 'm.controller_uuid']);
  const operators = await loadSiteLogins(knex, tenantUuid, 'operators', 'operator_uuid');
  const siteMeters = await loadSiteLogins(knex, tenantUuid, 'site_meters', 'meter_uuid');
  return [
    ...loginsOf([...chargers, ...gateways]),
    ...operators.map((row) => ({ ...siteLoginOf(row), operatorOf: row.location_id ?? undefined })),
    ...siteMeters.map((row) => ({ ...siteLoginOf(row), siteMeterOf: row.location_id ?? undefined })),
  ];
}

type SiteLoginRow = Omit<LoginRow, 'controller_uuid'>;

/** Logins for a whole location. */
async function loadSiteLogins(
  knex: Knex,
  tenantUuid: TenantUuid | undefined,
  table: string,
  clientId: string,
): Promise<SiteLoginRow[]> {
  return knex(table)
    .where(ofTenant(tenantUuid))
    .whereNotNull('mqtt_secret_hash')
    .select('tenant_uuid', `${clientId} as client_id`, 'mqtt_secret_hash', 'location_id')
    .orderBy(['tenant_uuid', 'location_id']);
}

function siteLoginOf(row: SiteLoginRow) {
  return {
    tenantUuid: row.tenant_uuid,
    clientId: row.client_id,
    secretHash: row.mqtt_secret_hash,
    controllers: [],
  };
}

/** The rows of one login are adjacent, one for each controller. */
function loginsOf(rows: readonly LoginRow[]): MqttLoginRecord[] {
  const logins: (MqttLoginRecord & { controllers: MqttLoginRecord['controllers'][number][] })[] = [];
  for (const row of rows) {
    let login = logins.at(-1);
    if (login?.tenantUuid !== row.tenant_uuid || login.clientId !== row.client_id) {
      login = {
        tenantUuid: row.tenant_uuid,
        clientId: row.client_id,
        secretHash: row.mqtt_secret_hash,
        controllers: [],
      };
      logins.push(login);
    }
    if (row.location_id !== null && row.controller_uuid !== null) {
      login.controllers.push({ locationId: row.location_id, controllerUuid: row.controller_uuid });
    }
  }
  return logins;
}

function ofTenant(tenantUuid: TenantUuid | undefined, prefix = ''): Record<string, TenantUuid> {
  return tenantUuid === undefined ? {} : { [`${prefix}tenant_uuid`]: tenantUuid };
}

// API keys and OAuth clients with their history, as a tenant's administrators list, create and end them.
const TABLES = {
  apiKey: { name: 'api_keys', id: 'key_id', ended: 'revoked_at_ms' },
  client: { name: 'oauth_clients', id: 'client_id', ended: 'disabled_at_ms' },
} as const satisfies Record<
  CredentialKind,
  { readonly name: string; readonly id: string; readonly ended: string }
>;
const KINDS = ['apiKey', 'client'] as const;

interface HistoryRow {
  readonly tenant_uuid: TenantUuid;
  readonly id: string;
  readonly secret_hash: string;
  /** JSON list of scopes. */
  readonly scopes: string;
  readonly expires_at_ms: number | null;
  readonly ended_at_ms: number | null;
  readonly name: string | null;
  readonly created_at_ms: number | null;
  readonly created_by: string | null;
  readonly ended_by: string | null;
  readonly last_used_at_ms: number | null;
}

/** The credentials of one tenant, API keys first, each kind from the oldest on. */
export async function loadTenantCredentials(
  trx: Knex.Transaction,
  tenantUuid: TenantUuid,
): Promise<readonly CredentialRecord[]> {
  const apiKeys = await loadCredentialHistory(trx, 'apiKey', tenantUuid);
  return [...apiKeys, ...(await loadCredentialHistory(trx, 'client', tenantUuid))];
}

/** The credentials of one kind, of one tenant or of all, the oldest first. */
export async function loadCredentialHistory(
  trx: Knex.Transaction,
  kind: CredentialKind,
  tenantUuid?: TenantUuid,
): Promise<readonly CredentialRecord[]> {
  const { name: table, id, ended } = TABLES[kind];
  const rows: HistoryRow[] = await trx(table)
    .where(tenantUuid === undefined ? {} : { tenant_uuid: tenantUuid })
    .select('tenant_uuid', 'secret_hash', 'scopes', 'expires_at_ms', 'name')
    .select('created_at_ms', 'created_by', 'ended_by', 'last_used_at_ms')
    .select({ id, ended_at_ms: ended })
    // Rows of releases that kept no instant of creation are the oldest.
    .orderByRaw('tenant_uuid, coalesce(created_at_ms, 0)')
    .orderBy(id);
  return rows.map((row) => ({
    kind,
    id: row.id,
    tenantUuid: row.tenant_uuid,
    secretHash: row.secret_hash,
    // `addCredential` writes this JSON.
    scopes: JSON.parse(row.scopes) as Scope[],
    expiresAtMs: row.expires_at_ms,
    endedAtMs: row.ended_at_ms,
    name: row.name,
    createdAtMs: row.created_at_ms,
    createdBy: row.created_by,
    endedBy: row.ended_by,
    lastUsedAtMs: row.last_used_at_ms,
  }));
}

export async function writeCredentialChanges(
  trx: Knex.Transaction,
  changes: readonly CredentialChange[],
): Promise<void> {
  for (const { type, credential } of changes) {
    const { kind, id, tenantUuid, endedAtMs, endedBy } = credential;
    const table = TABLES[kind];
    const key = { tenant_uuid: tenantUuid, [table.id]: id };
    if (type === 'add') await addCredential(trx, credential);
    else if (type === 'forget') await trx(table.name).where(key).delete();
    else
      await trx(table.name)
        .where(key)
        .update({ [table.ended]: endedAtMs, ended_by: endedBy });
  }
}

/** Fails if another credential, of any tenant, has the id. */
async function addCredential(trx: Knex.Transaction, credential: CredentialRecord): Promise<void> {
  const table = TABLES[credential.kind];
  await trx(table.name).insert({
    tenant_uuid: credential.tenantUuid,
    [table.id]: credential.id,
    secret_hash: credential.secretHash,
    scopes: JSON.stringify(credential.scopes),
    expires_at_ms: credential.expiresAtMs,
    [table.ended]: credential.endedAtMs,
    name: credential.name,
    created_at_ms: credential.createdAtMs,
    created_by: credential.createdBy,
    ended_by: credential.endedBy,
    last_used_at_ms: credential.lastUsedAtMs,
  });
}

const USE_COLUMNS = { tenant_uuid: 'text', id: 'text', used_at_ms: 'bigint' } as const satisfies Columns;

/** Stores the last use of each credential; a use older than the stored one is left out. */
export async function noteUses(trx: Knex.Transaction, uses: readonly CredentialUse[]): Promise<void> {
  for (const kind of KINDS) {
    const rows = uses
      .filter((use) => use.kind === kind)
      .map(({ tenantUuid, id, usedAtMs }) => [tenantUuid, id, usedAtMs]);
    if (rows.length === 0) continue;
    const { name, id } = TABLES[kind];
    await trx.raw(
      `update ${name} set last_used_at_ms = given.used_at_ms
        from ${jsonRows(engineOf(trx), USE_COLUMNS)} as given
        where ${name}.tenant_uuid = given.tenant_uuid and ${name}.${id} = given.id
          and coalesce(${name}.last_used_at_ms, 0) < given.used_at_ms`,
      [JSON.stringify(rows)],
    );
  }
}

// Compares the keys, clients and gateways of a provisioning file with the stored ones, and writes the differences.

interface GatewayRow {
  readonly gateway_id: string;
  readonly mqtt_secret_hash: string | null;
}

const GATEWAYS = {
  name: 'gateways',
  key: ['tenant_uuid', 'gateway_id'],
  columns: { tenant_uuid: 'text', gateway_id: 'text', mqtt_secret_hash: 'text' },
} as const satisfies KeyedTable<Columns>;

const GATEWAY_CONTROLLERS = {
  name: 'gateway_controllers',
  key: ['tenant_uuid', 'gateway_id', 'controller_uuid'],
  columns: { tenant_uuid: 'text', gateway_id: 'text', controller_uuid: 'text' },
} as const satisfies KeyedTable<Columns>;

/**
 * Writes the API keys of `tenant`. A revoked one stays revoked. @throws AdministrationError for a key of another tenant
 */
export async function provisionApiKeys(
  trx: Knex.Transaction,
  { tenantUuid, apiKeys }: ProvisionedTenant,
  atMs: EpochMs,
): Promise<ProvisioningAction[]> {
  const ids = apiKeys.map((key) => key.keyId);
  const stored: ApiKeyRow[] = await trx('api_keys').whereIn('key_id', ids);
  const before = new Map(stored.map((row) => [row.key_id, row]));
  const changed: RowOf<typeof API_KEYS.columns>[] = [];
  const actions = apiKeys.map((key) => {
    const held = before.get(key.keyId);
    if (held !== undefined && held.tenant_uuid !== tenantUuid) throw taken('key id', key.keyId);
    const row = apiKeyRow({ ...key, tenantUuid, revokedAtMs: held?.revoked_at_ms ?? null });
    const action = actionOf(held, row);
    if (action !== 'unchanged') changed.push(row);
    return { action, kind: 'api-key', id: key.keyId };
  });
  await putRows(trx, API_KEYS, changed);
  await stampCreated(trx, API_KEYS.name, 'key_id', actions, atMs);
  return actions;
}

/**
 * Writes the OAuth clients of `tenant`. A disabled one stays disabled. @throws
 * AdministrationError for a client of another tenant
 */
export async function provisionOauthClients(
  trx: Knex.Transaction,
  { tenantUuid, oauthClients }: ProvisionedTenant,
  atMs: EpochMs,
): Promise<ProvisioningAction[]> {
  const ids = oauthClients.map((client) => client.clientId);
  const stored: OauthClientRow[] = await trx('oauth_clients').whereIn('client_id', ids);
  const before = new Map(stored.map((row) => [row.client_id, row]));
  const changed: RowOf<typeof OAUTH_CLIENTS.columns>[] = [];
  const actions = oauthClients.map((client) => {
    const held = before.get(client.clientId);
    if (held !== undefined && held.tenant_uuid !== tenantUuid) throw taken('client id', client.clientId);
    const row = oauthClientRow({ ...client, tenantUuid, disabledAtMs: held?.disabled_at_ms ?? null });
    const action = actionOf(held, row);
    if (action !== 'unchanged') changed.push(row);
    return { action, kind: 'client', id: client.clientId };
  });
  await putRows(trx, OAUTH_CLIENTS, changed);
  await stampCreated(trx, OAUTH_CLIENTS.name, 'client_id', actions, atMs);
  return actions;
}

async function stampCreated(
  trx: Knex.Transaction,
  table: string,
  idColumn: string,
  actions: readonly ProvisioningAction[],
  atMs: EpochMs,
): Promise<void> {
  const created = actions.filter(({ action }) => action === 'created').map(({ id }) => id);
  if (created.length > 0) await trx(table).whereIn(idColumn, created).update({ created_at_ms: atMs });
}

/**
 * Writes the gateways of `tenant`. The file's list of controllers replaces the stored one: it is a right, which
 * a gateway loses for a charger that is taken out.
 */
export async function provisionGateways(
  trx: Knex.Transaction,
  { tenantUuid, gateways }: ProvisionedTenant,
): Promise<ProvisioningAction[]> {
  const ofTenant = { tenant_uuid: tenantUuid };
  const stored: GatewayRow[] = await trx('gateways').where(ofTenant);
  const before = new Map(stored.map((row) => [row.gateway_id, row]));
  const spokenFor = await controllersByGateway(trx, ofTenant);
  const chargers = new Set<string>(await trx('chargers').where(ofTenant).pluck('controller_uuid'));
  const actions: ProvisioningAction[] = [];
  for (const { gatewayId, mqttSecretHash, controllers } of gateways) {
    checkGateway(gatewayId, controllers, chargers);
    const key = { ...ofTenant, gateway_id: gatewayId };
    const held = before.get(gatewayId);
    const row = { ...key, mqtt_secret_hash: mqttSecretHash ?? held?.mqtt_secret_hash ?? null };
    const wanted = new Set(controllers);
    const had = spokenFor.get(gatewayId) ?? new Set();
    const isSameList = wanted.size === had.size && [...wanted].every((controller) => had.has(controller));
    const rowAction = actionOf(held, row);
    const action = rowAction === 'unchanged' && !isSameList ? 'updated' : rowAction;
    actions.push({ action, kind: 'gateway', id: gatewayId });
    if (rowAction !== 'unchanged') await putRows(trx, GATEWAYS, [row]);
    if (isSameList) continue;
    await trx('gateway_controllers').where(key).delete();
    const members = [...wanted].map((controller_uuid) => ({ ...key, controller_uuid }));
    await putRows(trx, GATEWAY_CONTROLLERS, members);
  }
  return actions;
}

async function controllersByGateway(
  trx: Knex.Transaction,
  ofTenant: { readonly tenant_uuid: string },
): Promise<Map<string, Set<ControllerUuid>>> {
  const rows: { gateway_id: string; controller_uuid: ControllerUuid }[] =
    await trx('gateway_controllers').where(ofTenant);
  const byGateway = new Map<string, Set<ControllerUuid>>();
  for (const row of rows) {
    const controllers = byGateway.get(row.gateway_id) ?? new Set();
    byGateway.set(row.gateway_id, controllers.add(row.controller_uuid));
  }
  return byGateway;
}

function checkGateway(
  gatewayId: string,
  controllers: readonly ControllerUuid[],
  chargers: ReadonlySet<string>,
): void {
  if (chargers.has(gatewayId)) {
    throw new AdministrationError(`gateway ${gatewayId} has the name, and so the login, of a charger`);
  }
  const unknown = controllers.find((controller) => !chargers.has(controller));
  if (unknown !== undefined) {
    throw new AdministrationError(`gateway ${gatewayId}: there is no charger ${unknown}`);
  }
}

function taken(what: string, id: string): AdministrationError {
  return new AdministrationError(`${what} ${id} is taken by another tenant`);
}
