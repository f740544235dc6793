// Order of a table's rows by its headers. Rows do not move while the user is about to use one.
import { useRef, useState } from 'preact/hooks';
import { compareNaturally } from '../../machines/values/natural-order.js';

export interface SortableColumn<Row> {
  readonly key: string;
  /** Sort key; a column without it cannot be sorted. Numbers start with the largest, text with A. */
  readonly sortValue?: (row: Row) => number | string;
}

export interface Order {
  readonly key: string;
  readonly direction: 'ascending' | 'descending';
}

type Value = number | string;

/** A computed order of rows, and the values behind it. */
interface Arrangement {
  readonly order: Order | undefined;
  readonly keys: readonly string[];
  readonly values: readonly Value[];
  /** Index in `keys` for each position of the table. */
  readonly places: readonly number[];
}

export function useOrder<Row>(
  columns: readonly SortableColumn<Row>[],
  rows: readonly Row[],
  rowKey: (row: Row) => string,
  firstOrder: Order | undefined,
) {
  const [order, setOrder] = useState(firstOrder);
  const holders = useRef(new Set<string>());
  const arrangement = useRef<Arrangement>({ order: undefined, keys: [], values: [], places: [] });

  const keys = rows.map(rowKey);
  const sortValue = columns.find(({ key }) => key === order?.key)?.sortValue;
  const values = sortValue === undefined ? keys.map(() => 0) : rows.map(sortValue);
  const before = arrangement.current;
  const isHeld = holders.current.size > 0 && before.order === order;
  if (before.order !== order || !areSame(before.keys, keys) || (!isHeld && !areSame(before.values, values))) {
    const held = isHeld ? new Map(before.places.map((i, place) => [before.keys[i], place])) : undefined;
    const sorted = held === undefined ? values : keys.map((key) => held.get(key) ?? Number.MAX_SAFE_INTEGER);
    const isDescending = held === undefined && order?.direction === 'descending';
    arrangement.current = { order, keys, values, places: placesOf(sorted, isDescending) };
  }

  function sortBy(key: string): void {
    const [first] = rows;
    const value = first && columns.find((column) => column.key === key)?.sortValue?.(first);
    const usual = typeof value === 'number' ? 'descending' : 'ascending';
    const other = usual === 'descending' ? 'ascending' : 'descending';
    setOrder((was) => ({ key, direction: was?.key === key && was.direction === usual ? other : usual }));
  }

  return {
    order,
    sortBy,
    sorted: arrangement.current.places.flatMap((i) => rows[i] ?? []),
    /** Keeps every row at its position until `release` by the same holder. */
    hold: (holder: string) => void holders.current.add(holder),
    release: (holder: string) => void holders.current.delete(holder),
  };
}

function placesOf(values: readonly Value[], isDescending: boolean): readonly number[] {
  const sign = isDescending ? -1 : 1;
  return values.map((_, i) => i).sort((a, b) => sign * compare(values[a] ?? 0, values[b] ?? 0));
}

function compare(a: Value, b: Value): number {
  return typeof a === 'number' && typeof b === 'number' ? a - b : compareNaturally(String(a), String(b));
}

function areSame<T>(a: readonly T[], b: readonly T[]): boolean {
  return a.length === b.length && a.every((value, i) => value === b[i]);
}
