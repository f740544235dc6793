// Tenants, their keys, clients and MQTT logins, as rows: secrets are hashes already.
import type { Knex } from 'knex';
import type { ControllerUuid, LocationId, TenantUuid } from '../../../machines/values/ids.js';
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
import { engineOf } from './engine.js';
import { type Columns, jsonRows, type KeyedTable, type RowOf } from './json-rows.js';

export interface TenantRow {
  readonly tenant_uuid: TenantUuid;
  readonly name: string;
  /** JSON list of text. */
  readonly features: string;
}

export interface ApiKeyRow {
  readonly tenant_uuid: TenantUuid;
  readonly key_id: string;
  readonly secret_hash: string;
  /** JSON list of scopes. */
  readonly scopes: string;
  readonly expires_at_ms: number | null;
  readonly revoked_at_ms: number | null;
}

export interface OauthClientRow {
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

export const API_KEYS = {
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

export const OAUTH_CLIENTS = {
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
