// A table with sortable headers. Of many rows, the document holds only the visible ones and some around them.
import {
  type ComponentChild,
  type ComponentChildren,
  createElement,
  type FunctionComponent,
  type RefObject,
  type VNode,
} from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { compareNaturally } from '../../machines/values/natural-order.js';

// Order of a table's rows by its headers. Rows do not move while the user is about to use one.

interface SortableColumn<Row> {
  readonly key: string;
  /** Sort key; a column without it cannot be sorted. Numbers start with the largest, text with A. */
  readonly sortValue?: (row: Row) => number | string;
}

interface Order {
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

function useOrder<Row>(
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
  if (
    before.order !== order ||
    !areSameLists(before.keys, keys) ||
    (!isHeld && !areSameLists(before.values, values))
  ) {
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

function areSameLists<T>(a: readonly T[], b: readonly T[]): boolean {
  return a.length === b.length && a.every((value, i) => value === b[i]);
}

// Visible rows of a long table: the document holds only these rows and some around them.

/** Tables up to this length are in the document completely. */
const WHOLE_AT_MOST = 80;
const ROWS_AROUND = 12;
/** The window moves by this many rows at a time, so that most frames of scrolling change nothing. */
const STEP = 8;
/** Used until a row has been measured, px. */
const GUESSED_HEIGHT = 44;

interface Window {
  readonly body: RefObject<HTMLTableSectionElement>;
  /** Rows from `first` to `end`, `end` excluded. */
  readonly first: number;
  readonly end: number;
  /** Height of the omitted rows, px. */
  readonly above: number;
  readonly below: number;
}

/** The visible rows of a table with `count` rows. All rows count as high as the first visible one. */
function useWindow(count: number): Window {
  const body = useRef<HTMLTableSectionElement>(null);
  const [view, setView] = useState({ first: 0, end: WHOLE_AT_MOST, height: GUESSED_HEIGHT });
  const isLong = count > WHOLE_AT_MOST;

  useLayoutEffect(() => {
    if (!isLong) return;
    const look = () => {
      const table = body.current;
      if (table === null) return;
      const height = table.querySelector('tr:not(.gap)')?.getBoundingClientRect().height || GUESSED_HEIGHT;
      const top = -table.getBoundingClientRect().top;
      const from = Math.min(count - 1, Math.floor(top / height)) - ROWS_AROUND;
      const to = Math.ceil((top + window.innerHeight) / height) + ROWS_AROUND;
      const first = Math.max(0, STEP * Math.floor(from / STEP));
      const end = Math.min(count, STEP * Math.ceil(to / STEP));
      setView((before) =>
        before.first === first && before.end === end && before.height === height
          ? before
          : { first, end: Math.max(end, first + 1), height },
      );
    };
    look();
    // Captures the scrolling of any element: a dialog scrolls on its own, and scroll events do not bubble.
    const scrolling = { passive: true, capture: true };
    window.addEventListener('scroll', look, scrolling);
    window.addEventListener('resize', look);
    // The content of a dialog has no size until the dialog is shown.
    const sizes = new ResizeObserver(look);
    if (body.current !== null) sizes.observe(body.current);
    return () => {
      window.removeEventListener('scroll', look, scrolling);
      window.removeEventListener('resize', look);
      sizes.disconnect();
    };
  }, [count, isLong]);

  if (!isLong) return { body, first: 0, end: count, above: 0, below: 0 };
  const first = Math.min(view.first, count - 1);
  const end = Math.min(view.end, count);
  return { body, first, end, above: first * view.height, below: (count - end) * view.height };
}

// A component that is rendered again only after a change of one of its properties.
function memo<Component extends (props: never) => ComponentChild>(component: Component): Component {
  // Preact skips a subtree if its element is the same object.
  function Memo(props: object) {
    const held = useRef<{ readonly props: object; readonly element: VNode } | undefined>(undefined);
    if (held.current === undefined || !areSame(held.current.props, props)) {
      held.current = {
        props,
        element: createElement(component as unknown as FunctionComponent<object>, props),
      };
    }
    return held.current.element;
  }
  return Memo as unknown as Component;
}

function areSame(a: object, b: object): boolean {
  const left = Object.entries(a);
  const right = new Map(Object.entries(b));
  return left.length === right.size && left.every(([name, value]) => right.get(name) === value);
}

export interface Column<Row> extends SortableColumn<Row> {
  readonly header: string;
  readonly cell: (row: Row) => ComponentChildren;
  readonly align?: 'end';
  /** The cell that names the row. */
  readonly isRowHeader?: boolean;
  /** Omitted on a narrow screen. */
  readonly isWideOnly?: boolean;
  /** Class of the column's cells, which sets its width. */
  readonly class?: string;
}

/**
 * Rows with equal sort values keep the order of `rows`. Rows are compared by identity: pass a changed row as a new
 * object, and an unchanged one as the same object. All rows have one height. `columns` should be the same array at each
 * rendering.
 */
export function Table<Row>({
  label,
  columns,
  rows,
  rowKey,
  firstOrder,
  empty = 'Nothing to show.',
}: {
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly rowKey: (row: Row) => string;
  readonly firstOrder?: Order;
  readonly empty?: string;
}) {
  const { order, sortBy, sorted, hold, release } = useOrder(columns, rows, rowKey, firstOrder);
  const { body, first, end, above, below } = useWindow(sorted.length);
  return (
    <div class="table-frame">
      <table aria-label={label} aria-rowcount={sorted.length + 1}>
        <thead>
          <tr aria-rowindex={1}>
            {columns.map((column) => (
              <Header key={column.key} column={column} order={order} onSort={sortBy} />
            ))}
          </tr>
        </thead>
        <tbody
          ref={body}
          onPointerEnter={() => hold('pointer')}
          onPointerLeave={() => release('pointer')}
          onFocusIn={() => hold('focus')}
          onFocusOut={() => release('focus')}
        >
          <Gap height={above} />
          {sorted.slice(first, end).map((row, i) => (
            <TableRow key={rowKey(row)} row={row} columns={columns} index={first + i + 2} />
          ))}
          <Gap height={below} />
        </tbody>
      </table>
      {rows.length === 0 && <p class="quiet empty">{empty}</p>}
    </div>
  );
}

function classOf({ align, isWideOnly, class: own }: Column<never>): string {
  return [align === 'end' ? 'end' : '', isWideOnly ? 'wide-only' : '', own ?? ''].filter(Boolean).join(' ');
}

function Header<Row>({
  column,
  order,
  onSort,
}: {
  readonly column: Column<Row>;
  readonly order: Order | undefined;
  readonly onSort: (key: string) => void;
}) {
  const { key, header, sortValue } = column;
  if (sortValue === undefined) {
    return (
      <th scope="col" class={classOf(column)}>
        {header}
      </th>
    );
  }
  const direction = order?.key === key ? order.direction : undefined;
  return (
    <th scope="col" class={classOf(column)} aria-sort={direction}>
      <button type="button" class="sort" onClick={() => onSort(key)}>
        {header}
        <span aria-hidden="true">
          {direction === undefined ? '' : direction === 'ascending' ? ' ▲' : ' ▼'}
        </span>
      </button>
    </th>
  );
}

interface RowProps<Row> {
  readonly row: Row;
  readonly columns: readonly Column<Row>[];
  readonly index: number;
}

function PlainRow<Row>({ row, columns, index }: RowProps<Row>) {
  return (
    <tr aria-rowindex={index}>
      {columns.map((column) =>
        column.isRowHeader ? (
          <th key={column.key} scope="row" class={classOf(column)}>
            {column.cell(row)}
          </th>
        ) : (
          <td key={column.key} class={classOf(column)}>
            {column.cell(row)}
          </td>
        ),
      )}
    </tr>
  );
}

const TableRow = memo(PlainRow);

/** Space of the rows that are not in the document. */
function Gap({ height }: { readonly height: number }) {
  return height > 0 ? <tr class="gap" style={{ height: `${height}px` }} /> : null;
}
