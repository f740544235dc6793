// A table with sortable headers. Of many rows, the document holds only the visible ones and some around them.
import type { ComponentChildren } from 'preact';
import { memo } from './memo.js';
import { type Order, type SortableColumn, useOrder } from './table-order.js';
import { useWindow } from './table-window.js';

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
