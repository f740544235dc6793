// Passes many rows through one binding: the SQL is constant for any number of
// rows, and takes little work on the main thread.
import type { Knex } from 'knex';
import type { ProvisioningAction } from '../../ports/administration.js';
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
