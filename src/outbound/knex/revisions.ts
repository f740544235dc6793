// Revisions, by which a running service notices changes of other
// processes: a counter, and the last change of each tenant.
import type { Knex } from 'knex';
import type { TenantUuid } from '../../../machines/values/ids.js';
import { AdministrationError } from '../../ports/administration.js';
import type { Revision } from '../../ports/store.js';
import { engineOf } from './engine.js';
import { countCommit } from './ownership.js';

interface RevisionRow {
  readonly revision: number;
  readonly tenant_uuid: TenantUuid | null;
  readonly sites_revision: number | null;
  readonly credentials_revision: number | null;
}

/**
 * Takes the next revision: the first statement of a transaction that changes rows from outside the
 * service. The row stays locked until the transaction ends. So revisions are committed in their
 * order, and one such transaction waits for another.
 */
export async function nextRevision(trx: Knex.Transaction): Promise<number> {
  await trx('revision_counter').increment('revision', 1);
  // PostgreSQL's row stays free for the service's commits: a long provisioning would delay them.
  if (engineOf(trx) === 'sqlite') await countCommit(trx);
  const row: { revision: number } | undefined = await trx('revision_counter').first('revision');
  if (row === undefined) throw new Error('the revision counter has no row');
  return row.revision;
}

/** Marks the changes of `revision` for a tenant. @throws AdministrationError for an unknown tenant */
export async function markChanged(
  trx: Knex.Transaction,
  tenantUuid: TenantUuid,
  revision: number,
  changed: { readonly sites: boolean; readonly credentials: boolean },
): Promise<void> {
  const marked = await trx('tenants')
    .where('tenant_uuid', tenantUuid)
    .update({
      ...(changed.sites ? { sites_revision: revision } : {}),
      ...(changed.credentials ? { credentials_revision: revision } : {}),
    });
  if (marked === 0) throw new AdministrationError(`there is no tenant ${tenantUuid}`);
}

/** The newest revision, and the changes after `since`; undefined `since` returns the number alone. */
export async function revisionSince(knex: Knex, since: number | undefined): Promise<Revision> {
  const after = since ?? Number.MAX_SAFE_INTEGER;
  const rows: RevisionRow[] = await knex('revision_counter as r')
    .leftJoin('tenants as t', (join) =>
      join
        .on('t.sites_revision', '>', knex.raw('?', [after]))
        .orOn('t.credentials_revision', '>', knex.raw('?', [after])),
    )
    .select('r.revision', 't.tenant_uuid', 't.sites_revision', 't.credentials_revision')
    .orderBy('t.tenant_uuid');
  return {
    revision: rows[0]?.revision ?? 0,
    tenants: rows.flatMap((row) =>
      row.tenant_uuid !== null && (row.sites_revision ?? 0) > after ? [row.tenant_uuid] : [],
    ),
    credentialsChanged: rows.some((row) => (row.credentials_revision ?? 0) > after),
  };
}
