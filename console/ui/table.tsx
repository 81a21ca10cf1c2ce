import type { ComponentChildren } from 'preact';

export interface Column<Row> {
  readonly name: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** Right-aligned, for amounts and counts; on cards the same as `named`. */
  readonly number?: boolean;
  /**
   * On phones, where there is no header, a row is a card: `wide` uses the full width, `named` is a line with its label, `hidden`
   * is omitted.
   */
  readonly card?: 'wide' | 'named' | 'hidden';
  /** Cut off at the column's width; never on cards. */
  readonly clip?: boolean;
}

export interface TableProps<Row> {
  /** What the table contains, for screen readers. */
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly rowKey: (row: Row) => string;
  /** The last row: sums. */
  readonly foot?: ComponentChildren;
  /** Whether it stays a table on phones: for a few narrow columns. */
  readonly plain?: boolean;
}

/** Rows as a table in wide windows and as cards on phones. */
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

/** On cards a missing value is omitted. Clipped text is shown in full in the tooltip. */
function Cell<Row>({ column, content }: CellProps<Row>) {
  const isNamed = column.number === true || column.card === 'named';
  return (
    <td
      class={classOf(column, content === '–')}
      data-name={isNamed ? column.name : undefined}
      title={column.clip && typeof content === 'string' ? content : undefined}
    >
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
