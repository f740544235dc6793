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
import { type Order, type SortableColumn, useOrder } from './table-order.js';

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
