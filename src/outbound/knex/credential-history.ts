// API keys and OAuth clients with their history, as a tenant's administrators list, create and end them.
import type { Knex } from 'knex';
import type { TenantUuid } from '../../../machines/values/ids.js';
import type {
  CredentialChange,
  CredentialKind,
  CredentialRecord,
  CredentialUse,
} from '../../ports/credentials.js';
import type { Scope } from '../../ports/records.js';
import { engineOf } from './engine.js';
import { type Columns, jsonRows } from './json-rows.js';

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
