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
                <td
                  key={column.name}
                  class={classOf(column)}
                  data-name={column.number ? column.name : undefined}
                >
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
        {foot === undefined ? null : <tfoot>{foot}</tfoot>}
      </table>
    </div>
  );
}

function classOf<Row>({ number, card, clip }: Column<Row>): string | undefined {
  const classes = [
    number && 'number',
    card === 'wide' && 'wide',
    card === 'hidden' && 'card-hidden',
    clip && 'clip',
  ];
  return classes.filter(Boolean).join(' ') || undefined;
}
