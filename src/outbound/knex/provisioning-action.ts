// What putting a row would do to what is stored.
import type { ProvisioningAction } from '../../ports/administration.js';
import type { Cell } from './json-rows.js';

/** Whether `row` is new, differs from `stored` in a column, or says what is stored already. */
export function actionOf(
  stored: object | undefined,
  row: Readonly<Record<string, Cell>>,
): ProvisioningAction['action'] {
  if (stored === undefined) return 'created';
  const before = new Map<string, unknown>(Object.entries(stored));
  return Object.entries(row).every(([column, cell]) => before.get(column) === cell) ? 'unchanged' : 'updated';
}
