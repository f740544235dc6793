// Compares a row with the stored one.
import type { ProvisioningAction } from '../../ports/administration.js';
import type { Cell } from './json-rows.js';

export function actionOf(
  stored: object | undefined,
  row: Readonly<Record<string, Cell>>,
): ProvisioningAction['action'] {
  if (stored === undefined) return 'created';
  const before = new Map<string, unknown>(Object.entries(stored));
  return Object.entries(row).every(([column, cell]) => before.get(column) === cell) ? 'unchanged' : 'updated';
}
