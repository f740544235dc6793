// Checks an SQLite database at each start: damaged pages would answer as if they were empty.

import type { Knex } from 'knex';
import { counted } from '../../../machines/values/counted.js';

// These rows are by far the most and decide nothing: a damaged one is reported when it is read.
const UNCHECKED = 'power_minutes';

/**
 * The first problem of the tables and indexes (measured power only with `isPowerChecked`) and of the references between
 * rows; undefined without a problem. Takes some seconds for a million rows.
 */
export async function integrityProblem(
  knex: Knex,
  { isPowerChecked = false }: { readonly isPowerChecked?: boolean } = {},
): Promise<string | undefined> {
  const tables: { name: string }[] = await knex('sqlite_master').where('type', 'table').select('name');
  for (const { name } of tables) {
    if (name === UNCHECKED && !isPowerChecked) continue;
    // One problem is enough, and listing all takes long if a table is gone.
    const told: { integrity_check: string }[] = await knex.raw(`pragma integrity_check('${name}')`);
    const problem = told.find(({ integrity_check }) => integrity_check !== 'ok')?.integrity_check;
    if (problem !== undefined) return `${name}: ${problem.replaceAll('\n', ' ')}`;
  }
  const dangling: { table: string; parent: string }[] = await knex.raw('pragma foreign_key_check');
  const [first] = dangling;
  if (first === undefined) return undefined;
  return `${counted(dangling.length, 'row refers', 'rows refer')} to missing rows, the first in ${first.table} to ${first.parent}`;
}
