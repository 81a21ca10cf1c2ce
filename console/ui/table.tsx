import type { ComponentChildren } from 'preact';

export interface Column<Row> {
  readonly name: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** Right-aligned, as amounts and counts are; on phones, where there is no head, its name stands before it. */
  readonly number?: boolean;
  /** On phones a row is a card: `wide` takes its whole width, `hidden` is left out. */
  readonly card?: 'wide' | 'hidden';
  readonly clip?: boolean;
}

export interface TableProps<Row> {
  /** What the table holds, for screen readers. */
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly rowKey: (row: Row) => string;
  /** The last line: sums. */
  readonly foot?: ComponentChildren;
  /** Stays a table on phones: few, narrow columns. */
  readonly plain?: boolean;
}

/** Rows that are tables on wide windows and cards on phones. */
export function Table<Row>({ label, columns, rows, rowKey, foot, plain = false }: TableProps<Row>) {
  return (
    <div class="table-scroll">
      <table class={plain ? undefined : 'cards'} aria-label={label}>
        <thead>
          <tr>
            {columns.map(({ name, number }) => (
              <th key={name} scope="col" class={number ? 'number' : undefined}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={rowKey(row)}>
              {columns.map((column) => (
                <Cell key={column.name} column={column} content={column.cell(row)} />
              ))}
            </tr>
          ))}
        </tbody>
        {foot === undefined ? null : <tfoot>{foot}</tfoot>}
      </table>
    </div>
  );
}

interface CellProps<Row> {
  readonly column: Column<Row>;
  readonly content: ComponentChildren;
}

/** On cards a value that there is not is left out. */
function Cell<Row>({ column, content }: CellProps<Row>) {
  return (
    <td class={classOf(column, content === '–')} data-name={column.number ? column.name : undefined}>
      {content}
    </td>
  );
}

function classOf<Row>({ number, card, clip }: Column<Row>, isNothing: boolean): string | undefined {
  const classes = [
    number && 'number',
    card === 'wide' && 'wide',
    card === 'hidden' && 'card-hidden',
    clip && 'clip',
    isNothing && 'nothing',
  ];
  return classes.filter(Boolean).join(' ') || undefined;
}
