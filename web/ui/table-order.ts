// The order of a table's rows: what its headers ask for, unmoved while somebody points at a row.
import { useRef, useState } from 'preact/hooks';
import type { Column } from './table.js';

export interface Order {
  readonly key: string;
  readonly direction: 'ascending' | 'descending';
}

const collator = new Intl.Collator(undefined, { numeric: true });

export function useOrder<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  rowKey: (row: Row) => string,
  firstOrder: Order | undefined,
) {
  const [order, setOrder] = useState(firstOrder);
  const isHeld = useRef(false);
  const places = useRef<ReadonlyMap<string, number>>(new Map());
  const placedBy = useRef<Order | undefined>(undefined);

  const byPlace = (a: Row, b: Row) =>
    (places.current.get(rowKey(a)) ?? Number.MAX_SAFE_INTEGER) -
    (places.current.get(rowKey(b)) ?? Number.MAX_SAFE_INTEGER);
  const isKept = isHeld.current && placedBy.current === order;
  const sorted = [...rows].sort(isKept ? byPlace : comparison(columns, order));
  if (!isKept) {
    places.current = new Map(sorted.map((row, i) => [rowKey(row), i]));
    placedBy.current = order;
  }

  function sortBy(key: string): void {
    const [first] = rows;
    const value = first && columns.find((column) => column.key === key)?.sortValue?.(first);
    const usual = typeof value === 'number' ? 'descending' : 'ascending';
    const other = usual === 'descending' ? 'ascending' : 'descending';
    setOrder((before) => ({
      key,
      direction: before?.key === key && before.direction === usual ? other : usual,
    }));
  }

  return {
    order,
    sorted,
    sortBy,
    hold: () => {
      isHeld.current = true;
    },
    release: () => {
      isHeld.current = false;
    },
  };
}

function comparison<Row>(
  columns: readonly Column<Row>[],
  order: Order | undefined,
): (a: Row, b: Row) => number {
  const sortValue = columns.find(({ key }) => key === order?.key)?.sortValue;
  if (sortValue === undefined) return () => 0;
  const sign = order?.direction === 'descending' ? -1 : 1;
  return (a, b) => {
    const [left, right] = [sortValue(a), sortValue(b)];
    const difference =
      typeof left === 'number' && typeof right === 'number'
        ? left - right
        : collator.compare(String(left), String(right));
    return sign * difference;
  };
}
