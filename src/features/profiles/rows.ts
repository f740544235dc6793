// Profiles as rows: one for every submission, never deleted. The row that is not superseded holds its slot.
import type { Knex } from 'knex';
import type { ConnectorId, ControllerUuid, LocationId, TenantUuid } from '../../../machines/values/ids.js';
import type { EpochMs, TimeWindow } from '../../../machines/values/time.js';
import { type Engine, engineOf, exactDouble, readThrough } from '../../outbound/knex/engine.js';
import { newestEventId } from '../../outbound/knex/event-ids.js';
import { type Cell, type Columns, jsonRows, readRows } from '../../outbound/knex/json-rows.js';
import type {
  PermanentLimitHistoryRecord,
  ProfileHistoryRecord,
  ProfileRecord,
  ProfileTarget,
} from '../../ports/records.js';
import type { ChangeOf, Page } from '../../ports/store.js';

/** A submission or a cancellation. */
type ProfileChange = ChangeOf<'profile.put' | 'profile.cancel'>;

interface TargetRow {
  readonly location_id: LocationId | null;
  readonly controller_uuid: ControllerUuid | null;
  readonly connector_id: ConnectorId | null;
}

interface ProfileRow extends TargetRow {
  readonly priority: number;
  readonly limit_kw: number;
  readonly starts_at_ms: number;
  readonly ends_at_ms: number;
}

interface HistoryRow extends ProfileRow {
  readonly submitted_at_ms: number;
  readonly superseded_at_ms: number | null;
}

const TARGET = ['location_id', 'controller_uuid', 'connector_id'] as const;
const WINDOW = ['priority', 'limit_kw', 'starts_at_ms', 'ends_at_ms'] as const;
const PROFILE = [...TARGET, ...WINDOW] as const;

/** A cancellation has null as `limit_kw` and window: it adds no profile. */
const PUT_COLUMNS = {
  tenant_uuid: 'text',
  location_id: 'text',
  controller_uuid: 'text',
  connector_id: 'text',
  priority: 'integer',
  limit_kw: 'double precision',
  starts_at_ms: 'bigint',
  ends_at_ms: 'bigint',
  submitted_at_ms: 'bigint',
  superseded_at_ms: 'bigint',
  submitted_by: 'text',
  cluster_id: 'text',
  first_in_slot: 'integer',
} as const satisfies Columns;
const SUPERSEDED_AT = Object.keys(PUT_COLUMNS).indexOf('superseded_at_ms');

const SLOT = ['location_id', 'controller_uuid', 'connector_id'].map(
  (name) => `coalesce(profiles.${name}, '') = coalesce(put.${name}, '')`,
);
const STATEMENTS = { sqlite: statements('sqlite'), postgres: statements('postgres') };

function statements(engine: Engine): { readonly supersede: string; readonly insert: string } {
  const puts = jsonRows(engine, PUT_COLUMNS);
  const columns = Object.keys(PUT_COLUMNS).filter((name) => name !== 'first_in_slot');
  return {
    supersede: `update profiles set superseded_at_ms = put.submitted_at_ms from ${puts} as put
      where put.first_in_slot = 1 and profiles.tenant_uuid = put.tenant_uuid and ${SLOT.join(' and ')}
        and profiles.priority = put.priority and profiles.superseded_at_ms is null`,
    // The caller keeps other writers of the tenant out. A submission is an event, so its number is the next id.
    insert: `insert into profiles (submission, ${columns.join(', ')})
      ${engine === 'sqlite' ? '' : 'overriding system value'}
      select ${newestEventId(engine, 'put.tenant_uuid')} + put.nth, ${columns.map((name) => `put.${name}`).join(', ')}
      from ${puts} as put where put.limit_kw is not null order by put.nth`,
  };
}

/**
 * Writes changes of any tenants in the given order. Each supersedes the holder of its slot, even one of the same call.
 */
export async function writeProfiles(trx: Knex.Transaction, changes: readonly ProfileChange[]): Promise<void> {
  if (changes.length === 0) return;
  const { supersede, insert } = STATEMENTS[engineOf(trx)];
  const rows = JSON.stringify(rowsOf(changes));
  await trx.raw(supersede, [rows]);
  await trx.raw(insert, [rows]);
}

function rowsOf(changes: readonly ProfileChange[]): Cell[][] {
  const newest = new Map<string, Cell[]>();
  return changes.map((change) => {
    const { tenantUuid, target, atMs } = change;
    const { location_id, controller_uuid, connector_id } = targetRow(target);
    const profile = change.kind === 'profile.put' ? change.profile : undefined;
    const priority = change.kind === 'profile.put' ? change.profile.priority : change.priority;
    // No identifier contains `/`.
    const slot = `${tenantUuid}/${location_id ?? ''}/${controller_uuid ?? ''}/${connector_id ?? ''}/${priority}`;
    const before = newest.get(slot);
    if (before !== undefined) before[SUPERSEDED_AT] = atMs;
    const row = [
      tenantUuid,
      location_id,
      controller_uuid,
      connector_id,
      priority,
      profile === undefined ? null : exactDouble(profile.limitKw),
      profile?.startsAtMs ?? null,
      profile?.endsAtMs ?? null,
      atMs,
      null,
      target.kind === 'organization' ? null : (change.by ?? null),
      (change.kind === 'profile.put' ? change.clusterId : undefined) ?? null,
      before === undefined ? 1 : 0,
    ];
    newest.set(slot, row);
    return row;
  });
}

// The order of the index that finds the rows, so nothing is sorted.
const BY_TARGET = TARGET.map((name) => `coalesce(${name}, '')`).join(', ');

/** The profiles of a tenant that hold their slot, by target and then priority, ascending. `trx` is a snapshot. */
export async function loadProfiles(trx: Knex.Transaction, tenantUuid: TenantUuid): Promise<ProfileRecord[]> {
  const held = () => trx('profiles').where('tenant_uuid', tenantUuid).whereNull('superseded_at_ms');
  // A target is read once, and not with each of its profiles: that takes a third of the time.
  const targets = await readRows<TargetRow & { readonly profiles: number }>(
    trx,
    held()
      .select(TARGET.map((name) => trx.raw('max(??) as ??', [name, name])))
      .count({ profiles: '*' })
      .groupByRaw(BY_TARGET)
      .orderByRaw(BY_TARGET),
    { location_id: 'text', controller_uuid: 'text', connector_id: 'text', profiles: 'bigint' },
  );
  const rows = await readRows<Omit<ProfileRow, keyof TargetRow>>(
    trx,
    held()
      .select(...WINDOW)
      .orderByRaw(`${BY_TARGET}, priority`),
    { priority: 'integer', limit_kw: 'double precision', starts_at_ms: 'bigint', ends_at_ms: 'bigint' },
  );
  const records: ProfileRecord[] = [];
  for (const row of targets) {
    const target = targetOf(row);
    const begin = records.length;
    for (const profile of rows.slice(begin, begin + row.profiles)) records.push(profileOf(profile, target));
  }
  return records;
}

/** Every profile ever submitted for `target` whose window overlaps `window`, in the order of submission. */
export async function readProfileHistory(
  trx: Knex.Transaction,
  tenantUuid: TenantUuid,
  target: ProfileTarget,
  window: TimeWindow,
  page?: Page,
): Promise<ProfileHistoryRecord[]> {
  const rows = submissionsOf(trx, tenantUuid, target)
    .where('starts_at_ms', '<', window.endsAtMs)
    .where('ends_at_ms', '>', window.startsAtMs);
  if (page !== undefined) rows.offset(page.offset).limit(page.count);
  return (await rows).map((row) => historyOf(row, target));
}

/** The profiles that held a slot of `target` at `atMs`, in the order of submission. */
export async function readProfilesAt(
  trx: Knex.Transaction,
  tenantUuid: TenantUuid,
  target: ProfileTarget,
  atMs: EpochMs,
): Promise<ProfileHistoryRecord[]> {
  const rows = await submissionsOf(trx, tenantUuid, target)
    .where('submitted_at_ms', '<=', atMs)
    .where((held) => held.whereNull('superseded_at_ms').orWhere('superseded_at_ms', '>', atMs));
  return rows.map((row) => historyOf(row, target));
}

function submissionsOf(
  trx: Knex.Transaction,
  tenantUuid: TenantUuid,
  target: ProfileTarget,
): Knex.QueryBuilder<object, HistoryRow[]> {
  return trx(readThrough(trx, 'profiles', 'profiles_by_target'))
    .where({ tenant_uuid: tenantUuid, ...targetRow(target) })
    .select<HistoryRow[]>(...PROFILE, 'submitted_at_ms', 'superseded_at_ms')
    .orderBy('submission');
}

function historyOf(row: HistoryRow, target: ProfileTarget): ProfileHistoryRecord {
  return {
    ...profileOf(row, target),
    submittedAtMs: row.submitted_at_ms,
    supersededAtMs: row.superseded_at_ms,
  };
}

function targetRow(target: ProfileTarget): TargetRow {
  const none = { location_id: null, controller_uuid: null, connector_id: null };
  switch (target.kind) {
    case 'location':
      return { ...none, location_id: target.locationId };
    case 'connector':
      return { ...none, controller_uuid: target.controllerUuid, connector_id: target.connectorId };
    case 'organization':
      return none;
  }
}

function targetOf(row: TargetRow): ProfileTarget {
  if (row.location_id !== null) return { kind: 'location', locationId: row.location_id };
  if (row.controller_uuid === null || row.connector_id === null) return { kind: 'organization' };
  return { kind: 'connector', controllerUuid: row.controller_uuid, connectorId: row.connector_id };
}

function profileOf(row: Omit<ProfileRow, keyof TargetRow>, target: ProfileTarget): ProfileRecord {
  return {
    target,
    priority: row.priority,
    limitKw: row.limit_kw,
    startsAtMs: row.starts_at_ms,
    endsAtMs: row.ends_at_ms,
  };
}

// Permanent limits: the one in force is stored with its location, and a history keeps all.

export type PermanentLimitChange = Omit<ChangeOf<'permanentLimit.set'>, 'kind'>;

const PERMANENT_COLUMNS = {
  tenant_uuid: 'text',
  location_id: 'text',
  limit_kw: 'double precision',
  set_at_ms: 'bigint',
  newest: 'integer',
} as const satisfies Columns;
const NEWEST = Object.keys(PERMANENT_COLUMNS).indexOf('newest');

const OF_PERMANENT = { sqlite: permanentStatements('sqlite'), postgres: permanentStatements('postgres') };

function permanentStatements(engine: Engine): { readonly record: string; readonly apply: string } {
  const given = `${jsonRows(engine, PERMANENT_COLUMNS)} as given`;
  const counts = engine === 'sqlite';
  const last =
    '(select coalesce(max(change), 0) from permanent_limit_changes where tenant_uuid = given.tenant_uuid)';
  return {
    record: `insert into permanent_limit_changes
        (${counts ? 'change, ' : ''}tenant_uuid, location_id, limit_kw, set_at_ms)
      select ${counts ? `${last} + given.nth, ` : ''}given.tenant_uuid, given.location_id, given.limit_kw, given.set_at_ms
      from ${given} order by given.nth`,
    apply: `update locations set permanent_limit_kw = given.limit_kw from ${given}
      where given.newest = 1 and locations.tenant_uuid = given.tenant_uuid
        and locations.location_id = given.location_id`,
  };
}

/** Records the changes in order and puts the last of each location in force. Fails if a location is unknown. */
export async function setPermanentLimits(
  trx: Knex.Transaction,
  changes: readonly PermanentLimitChange[],
): Promise<void> {
  if (changes.length === 0) return;
  const { record, apply } = OF_PERMANENT[engineOf(trx)];
  const newest = new Map<string, Cell[]>();
  const rows = changes.map(({ tenantUuid, locationId, limitKw, atMs }) => {
    const location = `${tenantUuid}/${locationId}`;
    const before = newest.get(location);
    if (before !== undefined) before[NEWEST] = 0;
    const row = [tenantUuid, locationId, exactDouble(limitKw), atMs, 1];
    newest.set(location, row);
    return row;
  });
  const json = JSON.stringify(rows);
  await trx.raw(record, [json]);
  await trx.raw(apply, [json]);
}

/**
 * The permanent limits of a location inside `window`, the one in force at its start first; without a window all. In the
 * order in which they were set, empty for an unknown location.
 */
export async function readPermanentLimits(
  trx: Knex.Transaction,
  tenantUuid: TenantUuid,
  locationId: LocationId,
  window?: TimeWindow,
  page?: Page,
): Promise<PermanentLimitHistoryRecord[]> {
  const changes = () =>
    trx(readThrough(trx, 'permanent_limit_changes', 'permanent_limit_changes_by_location')).where({
      tenant_uuid: tenantUuid,
      location_id: locationId,
    });
  const asked = changes().select('limit_kw', 'set_at_ms').orderBy('change');
  if (window !== undefined) {
    const inForce = changes().where('set_at_ms', '<=', window.startsAtMs).max('change');
    asked
      .where('set_at_ms', '<', Math.max(window.endsAtMs, window.startsAtMs + 1))
      .where('change', '>=', trx.raw('coalesce((?), 0)', [inForce]));
  }
  if (page !== undefined) asked.offset(page.offset).limit(page.count);
  const rows: { limit_kw: number; set_at_ms: number }[] = await asked;
  return rows.map((row) => ({ limitKw: row.limit_kw, setAtMs: row.set_at_ms }));
}
