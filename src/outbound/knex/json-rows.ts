// Passes many rows through one binding or one cell: the SQL is constant for any number of
// rows, and takes little work on the main thread.
import type { Knex } from 'knex';
import type { LocationId } from '../../../machines/values/ids.js';
import type {
  ProvisionedLocation,
  ProvisionedTenant,
  ProvisioningAction,
} from '../../ports/administration.js';
import { type Engine, engineOf, exactDouble } from './engine.js';

export type Cell = string | number | null;
export type ColumnKind = 'text' | 'integer' | 'bigint' | 'double precision';
export type Columns = Readonly<Record<string, ColumnKind>>;

/** A table for `putRows`. */
export interface KeyedTable<C extends Columns> {
  readonly name: string;
  readonly key: readonly (keyof C & string)[];
  readonly columns: C;
  /** A condition on each row, called `given`; rows that do not meet it are left out. */
  readonly onlyWhere?: string;
}

export type RowOf<C extends Columns> = { readonly [K in keyof C]: Cell };

/**
 * A sub-query over one JSON binding, an array with an array of cells for
 * each row: `nth` (from 1) and the columns in order.
 */
export function jsonRows(engine: Engine, columns: Columns): string {
  const kinds = Object.entries(columns);
  if (engine === 'sqlite') {
    const cells = kinds.map(([name], i) => `value ->> ${i} as ${name}`);
    return `(select key + 1 as nth, ${cells.join(', ')} from json_each(?))`;
  }
  const cells = kinds.map(([name, kind], i) => `(cells ->> ${i})::${kind} as ${name}`);
  return `(select nth, ${cells.join(', ')} from jsonb_array_elements(?::jsonb) with ordinality as element(cells, nth))`;
}

/**
 * The rows of `query`, in its order. They come as one text: for each cell, SQLite's driver needs the main thread longer,
 * and keeps a second copy until it has returned all.
 */
export async function readRows<Row extends object>(
  trx: Knex.Transaction,
  query: Knex.QueryBuilder,
  columns: { readonly [Name in keyof Row & string]: ColumnKind },
): Promise<Row[]> {
  const isSqlite = engineOf(trx) === 'sqlite';
  const cells = Object.entries<ColumnKind>(columns).map(
    ([name, kind]) => `'${name}', ${isSqlite && kind === 'double precision' ? exactCell(name) : name}`,
  );
  const [row, list] = isSqlite ? ['json_object', 'json_group_array'] : ['json_build_object', 'json_agg'];
  const read: { readonly rows: string | null } = await trx
    .from(query.as('given'))
    .first(trx.raw(`cast(${list}(${row}(${cells.join(', ')})) as text) as rows`));
  return JSON.parse(read.rows ?? '[]') as Row[];
}

/** JSON of SQLite has a double with 15 digits, which is another double for some. */
function exactCell(name: string): string {
  return `json(case when ${name} is not null then printf('%!.17g', ${name}) end)`;
}

/** Condition: `table` has a row that equals `given` in these columns. */
export function isStored(table: string, columns: readonly string[]): string {
  const same = columns.map((name) => `${table}.${name} = given.${name}`);
  return `exists (select 1 from ${table} where ${same.join(' and ')})`;
}

/** Inserts `rows`, each with another key, or updates the rows with these keys. */
export async function putRows<C extends Columns>(
  trx: Knex.Transaction,
  table: KeyedTable<C>,
  rows: readonly RowOf<C>[],
): Promise<void> {
  if (rows.length === 0) return;
  const names = Object.keys(table.columns);
  const updates = names
    .filter((name) => !table.key.includes(name))
    .map((name) => `${name} = excluded.${name}`)
    .join(', ');
  // Without "where", SQLite would parse "on conflict" as part of a join.
  await trx.raw(
    `insert into ${table.name} (${names.join(', ')})
     select ${names.join(', ')} from ${jsonRows(engineOf(trx), table.columns)} as given where ${table.onlyWhere ?? 'true'}
     on conflict (${table.key.join(', ')}) do ${updates === '' ? 'nothing' : `update set ${updates}`}`,
    [JSON.stringify(rows.map((row) => names.map((name) => cellOf(table.columns[name], row[name] ?? null))))],
  );
}

function cellOf(kind: ColumnKind | undefined, value: Cell): Cell {
  return kind === 'double precision' && typeof value === 'number' ? exactDouble(value) : value;
}

// Compares a row with the stored one.
export function actionOf(
  stored: object | undefined,
  row: Readonly<Record<string, Cell>>,
): ProvisioningAction['action'] {
  if (stored === undefined) return 'created';
  const before = new Map<string, unknown>(Object.entries(stored));
  return Object.entries(row).every(([column, cell]) => before.get(column) === cell) ? 'unchanged' : 'updated';
}

/**
 * Stores the row of each location that the file gives one, and deletes those of the others. Each has a login.
 * @returns the action for each location with a row, before or now
 */
export async function provisionOfLocations<C extends Columns>(
  trx: Knex.Transaction,
  table: KeyedTable<C>,
  asked: {
    readonly kind: string;
    readonly idColumn: keyof C & string;
    readonly tenant: ProvisionedTenant;
    readonly rowOf: (location: ProvisionedLocation, storedHash: Cell) => RowOf<C> | null;
  },
): Promise<ReadonlyMap<LocationId, ProvisioningAction>> {
  const { kind, idColumn, tenant, rowOf } = asked;
  const { tenantUuid, locations } = tenant;
  const held: Readonly<Record<string, Cell>>[] = await trx(table.name)
    .where('tenant_uuid', tenantUuid)
    .select(...Object.keys(table.columns));
  const stored = new Map(held.map((row) => [row.location_id, row]));
  const actions = new Map<LocationId, ProvisioningAction>();
  const changed: RowOf<C>[] = [];
  const removed: LocationId[] = [];
  for (const location of locations) {
    const { locationId } = location;
    const before = stored.get(locationId);
    const row = rowOf(location, before?.mqtt_secret_hash ?? null);
    if (row !== null) {
      const action = actionOf(before, row);
      actions.set(locationId, { action, kind, id: String(row[idColumn]) });
      if (action !== 'unchanged') changed.push(row);
    } else if (before !== undefined) {
      actions.set(locationId, { action: 'removed', kind, id: String(before[idColumn]) });
      removed.push(locationId);
    }
  }
  await trx(table.name).where('tenant_uuid', tenantUuid).whereIn('location_id', removed).delete();
  await putRows(trx, table, changed);
  return actions;
}
