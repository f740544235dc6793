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
  type NewCredential,
  type ProvisionedTenant,
  type ProvisioningAction,
} from '../../ports/administration.js';
import type {
  CredentialChange,
  CredentialKind,
  CredentialRecord,
  CredentialSet,
  CredentialUse,
  MqttLoginRecord,
} from '../../ports/credentials.js';
import type { Scope, TenantRecord } from '../../ports/records.js';

export interface TenantRow {
  readonly tenant_uuid: TenantUuid;
  readonly name: string;
  /** JSON list of text. */
  readonly features: string;
}

interface LoginRow {
  readonly tenant_uuid: TenantUuid;
  readonly client_id: string;
  readonly mqtt_secret_hash: string;
  /** Null for a gateway without controllers. */
  readonly location_id: LocationId | null;
  readonly controller_uuid: ControllerUuid | null;
}

/** Credentials and logins of all tenants. */
export async function loadCredentials(trx: Knex.Transaction): Promise<CredentialSet> {
  return {
    tenants: await loadTenants(trx),
    credentials: [...(await loadCredentialsOf(trx, 'apiKey')), ...(await loadCredentialsOf(trx, 'client'))],
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

/** Logins of chargers, gateways, grid operators, site meters and readers with a password, of one tenant or of all. */
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
  const readers = await loadSiteLogins(knex, tenantUuid, 'readers', 'reader_uuid');
  return [
    ...loginsOf([...chargers, ...gateways]),
    ...operators.map((row) => ({ ...siteLoginOf(row), operatorOf: row.location_id ?? undefined })),
    ...siteMeters.map((row) => ({ ...siteLoginOf(row), siteMeterOf: row.location_id ?? undefined })),
    ...readers.map((row) => ({ ...siteLoginOf(row), readerOf: row.location_id ?? undefined })),
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

// API keys and OAuth clients, each kind in a table of its own.
interface CredentialTable extends KeyedTable<Columns> {
  /** Columns of its id, and of the instant of its end. */
  readonly id: string;
  readonly ended: string;
  readonly noun: string;
  /** In the actions of provisioning. */
  readonly label: string;
  /** The columns of a provisioning file. */
  readonly columns: Columns;
}

const SHARED_COLUMNS = { tenant_uuid: 'text', secret_hash: 'text', scopes: 'text' } as const;
const TABLES: Readonly<Record<CredentialKind, CredentialTable>> = {
  apiKey: {
    name: 'api_keys',
    key: ['tenant_uuid', 'key_id'],
    id: 'key_id',
    ended: 'revoked_at_ms',
    noun: 'key',
    label: 'api-key',
    columns: { ...SHARED_COLUMNS, key_id: 'text', expires_at_ms: 'bigint' },
  },
  client: {
    name: 'oauth_clients',
    key: ['tenant_uuid', 'client_id'],
    id: 'client_id',
    ended: 'disabled_at_ms',
    noun: 'client',
    label: 'client',
    columns: { ...SHARED_COLUMNS, client_id: 'text' },
  },
};
const KINDS = ['apiKey', 'client'] as const;

interface CredentialRow {
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
  const apiKeys = await loadCredentialsOf(trx, 'apiKey', tenantUuid);
  return [...apiKeys, ...(await loadCredentialsOf(trx, 'client', tenantUuid))];
}

/** The credentials of one kind, of one tenant or of all, the oldest first. */
export async function loadCredentialsOf(
  trx: Knex,
  kind: CredentialKind,
  tenantUuid?: TenantUuid,
): Promise<readonly CredentialRecord[]> {
  const { name: table, id, ended } = TABLES[kind];
  const rows: CredentialRow[] = await trx(table)
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

/** Of the command line. @throws AdministrationError if another credential, of any tenant, has the id */
export async function insertCredential(trx: Knex.Transaction, credential: NewCredential): Promise<void> {
  const { name, id, noun } = TABLES[credential.kind];
  const held: unknown = await trx(name).where(id, credential.id).first(id);
  if (held !== undefined) throw new AdministrationError(`${noun} id ${credential.id} is taken`);
  await addCredential(trx, {
    name: null,
    createdAtMs: null,
    createdBy: null,
    endedAtMs: null,
    endedBy: null,
    lastUsedAtMs: null,
    ...credential,
  });
}

/**
 * Stamps the end of a credential; one that ended already keeps its instant.
 * @returns its tenant, and `hasEnded` if it ends now. @throws AdministrationError if there is none
 */
export async function endCredential(
  trx: Knex.Transaction,
  kind: CredentialKind,
  id: string,
  atMs: EpochMs,
): Promise<{ readonly tenantUuid: TenantUuid; readonly hasEnded: boolean }> {
  const table = TABLES[kind];
  const row: { tenant_uuid: TenantUuid } | undefined = await trx(table.name)
    .where(table.id, id)
    .first('tenant_uuid');
  if (row === undefined) throw new AdministrationError(`there is no ${table.noun} ${id}`);
  const ended = await trx(table.name)
    .where(table.id, id)
    .whereNull(table.ended)
    .update({ [table.ended]: atMs });
  return { tenantUuid: row.tenant_uuid, hasEnded: ended > 0 };
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
 * Writes the credentials of one kind of `tenant`. One that ended stays so.
 * @throws AdministrationError for the id of another tenant's
 */
export async function provisionCredentials(
  trx: Knex.Transaction,
  kind: CredentialKind,
  { tenantUuid, ...tenant }: ProvisionedTenant,
  atMs: EpochMs,
): Promise<ProvisioningAction[]> {
  const table = TABLES[kind];
  const credentials: readonly (ProvisionedTenant['oauthClients'][number] &
    Partial<Pick<CredentialRecord, 'expiresAtMs'>>)[] =
    kind === 'apiKey' ? tenant.apiKeys : tenant.oauthClients;
  const ids = credentials.map(({ id }) => id);
  const stored: Readonly<Record<string, unknown>>[] = await trx(table.name).whereIn(table.id, ids);
  const before = new Map(stored.map((row) => [row[table.id], row]));
  const changed: RowOf<Columns>[] = [];
  const actions = credentials.map(({ id, secretHash, scopes, expiresAtMs }) => {
    const held = before.get(id);
    if (held !== undefined && held.tenant_uuid !== tenantUuid)
      throw new AdministrationError(`${table.noun} id ${id} is taken by another tenant`);
    const row = {
      tenant_uuid: tenantUuid,
      [table.id]: id,
      secret_hash: secretHash,
      scopes: JSON.stringify(scopes),
      ...(expiresAtMs !== undefined && { expires_at_ms: expiresAtMs }),
    };
    const action = actionOf(held, row);
    if (action !== 'unchanged') changed.push(row);
    return { action, kind: table.label, id };
  });
  await putRows(trx, table, changed);
  const created = actions.filter(({ action }) => action === 'created').map(({ id }) => id);
  if (created.length > 0) await trx(table.name).whereIn(table.id, created).update({ created_at_ms: atMs });
  return actions;
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
