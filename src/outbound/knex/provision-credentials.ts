// Compares the keys, clients and gateways of a provisioning file with the stored ones, and writes the differences.
import type { Knex } from 'knex';
import type { ControllerUuid } from '../../../machines/values/ids.js';
import type { EpochMs } from '../../../machines/values/time.js';
import {
  AdministrationError,
  type ProvisionedTenant,
  type ProvisioningAction,
} from '../../ports/administration.js';
import {
  API_KEYS,
  type ApiKeyRow,
  apiKeyRow,
  OAUTH_CLIENTS,
  type OauthClientRow,
  oauthClientRow,
} from './credentials.js';
import { actionOf, type Columns, type KeyedTable, putRows, type RowOf } from './json-rows.js';

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
