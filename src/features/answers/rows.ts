// Answers to requests with an `Idempotency-Key`, written in the commit of the change that they answer.
import type { Knex } from 'knex';
import type { TenantUuid } from '../../../machines/values/ids.js';
import type { EpochMs } from '../../../machines/values/time.js';
import { type Engine, engineOf } from '../../outbound/knex/engine.js';
import { type Columns, jsonRows } from '../../outbound/knex/json-rows.js';
import type { AnswerRecord } from '../../ports/records.js';
import { AnsweredAlreadyError, type ChangeOf } from '../../ports/store.js';

/** A key is free again after this time. */
export const ANSWERS_KEPT_MS = 86_400_000;
/** An answer of a tenant is deleted once so many characters came after it. */
const KEPT_SIZE = 32_000_000;
/** Counted for the rest of a row. */
const ROW_SIZE = 300;
const FORGOTTEN_AT_ONCE = 2_000;

interface AnswerRow {
  readonly key_hash: string;
  readonly request_hash: string;
  readonly sealed: string;
  readonly at_ms: EpochMs | string;
}

interface InsertedRow {
  readonly tenant_uuid: TenantUuid;
  readonly place: number | string;
}

/** `size`: characters of this answer, and of those before it in the same statement. */
const COLUMNS = {
  tenant_uuid: 'text',
  key_hash: 'text',
  request_hash: 'text',
  sealed: 'text',
  at_ms: 'bigint',
  size: 'bigint',
} as const satisfies Columns;

const INSERT = { sqlite: insert('sqlite'), postgres: insert('postgres') };

/** The place of an answer counts the characters up to its end. A key whose answer is too old gets the new one. */
function insert(engine: Engine): string {
  return `insert into answers (tenant_uuid, key_hash, request_hash, sealed, at_ms, place)
    select tenant_uuid, key_hash, request_hash, sealed, at_ms,
      (select coalesce(max(place), 0) from answers where answers.tenant_uuid = given.tenant_uuid) + given.size
    from ${jsonRows(engine, COLUMNS)} as given where true
    on conflict (tenant_uuid, key_hash) do update set request_hash = excluded.request_hash,
      sealed = excluded.sealed, at_ms = excluded.at_ms, place = excluded.place
      where answers.at_ms <= excluded.at_ms - ${ANSWERS_KEPT_MS}
    returning tenant_uuid, place`;
}

/** @throws AnsweredAlreadyError if one of the keys has an answer */
export async function writeAnswers(
  trx: Knex.Transaction,
  changes: readonly ChangeOf<'answer.put' | 'answer.change'>[],
): Promise<void> {
  const sizes = new Map<TenantUuid, number>();
  const rows: (string | number)[][] = [];
  for (const change of changes) {
    const { tenantUuid } = change;
    if (change.kind === 'answer.put') {
      const { keyHash, requestHash, sealed, atMs } = change.answer;
      const size = (sizes.get(tenantUuid) ?? 0) + sealed.length + ROW_SIZE;
      sizes.set(tenantUuid, size);
      rows.push([tenantUuid, keyHash, requestHash, sealed, atMs, size]);
    } else {
      const { keyHash, sealed } = change;
      await trx('answers').where({ tenant_uuid: tenantUuid, key_hash: keyHash }).update({ sealed });
    }
  }
  if (rows.length === 0) return;
  const answer: InsertedRow[] | { readonly rows: InsertedRow[] } = await trx.raw(INSERT[engineOf(trx)], [
    JSON.stringify(rows),
  ]);
  const inserted = 'rows' in answer ? answer.rows : answer;
  if (inserted.length < rows.length) throw new AnsweredAlreadyError('the key has an answer already');
  const newest = new Map<TenantUuid, number>();
  for (const { tenant_uuid: tenantUuid, place } of inserted)
    newest.set(tenantUuid, Math.max(newest.get(tenantUuid) ?? 0, Number(place)));
  for (const [tenantUuid, place] of newest)
    if (place > KEPT_SIZE)
      await trx('answers')
        .where('tenant_uuid', tenantUuid)
        .where('place', '<=', place - KEPT_SIZE)
        .delete();
}

/** The answer of a key; undefined if it has none, or it is too old. */
export async function readAnswer(
  trx: Knex.Transaction,
  tenantUuid: TenantUuid,
  keyHash: string,
  now: EpochMs,
): Promise<AnswerRecord | undefined> {
  const row: AnswerRow | undefined = await trx('answers')
    .where({ tenant_uuid: tenantUuid, key_hash: keyHash })
    .where('at_ms', '>', now - ANSWERS_KEPT_MS)
    .first('request_hash', 'sealed', 'at_ms');
  return row && { keyHash, requestHash: row.request_hash, sealed: row.sealed, atMs: Number(row.at_ms) };
}

/** Deletes some of the answers from before `beforeMs`, of all tenants. @returns true if none are left */
export async function forgetSomeAnswers(trx: Knex.Transaction, beforeMs: EpochMs): Promise<boolean> {
  const old: { tenant_uuid: TenantUuid; key_hash: string }[] = await trx('answers')
    .where('at_ms', '<=', beforeMs)
    .select('tenant_uuid', 'key_hash')
    .orderBy('at_ms')
    .limit(FORGOTTEN_AT_ONCE);
  const ofTenants = new Map<TenantUuid, string[]>();
  for (const { tenant_uuid: tenantUuid, key_hash: keyHash } of old)
    ofTenants.set(tenantUuid, [...(ofTenants.get(tenantUuid) ?? []), keyHash]);
  for (const [tenantUuid, keyHashes] of ofTenants)
    await trx('answers')
      .where('tenant_uuid', tenantUuid)
      .whereIn('key_hash', keyHashes)
      .where('at_ms', '<=', beforeMs)
      .delete();
  return old.length < FORGOTTEN_AT_ONCE;
}
