export interface Column<Row> {
  readonly title: string;
  readonly value: (row: Row) => string | number | boolean | null | undefined;
  /** Numbers and amounts are right-aligned. */
  readonly align?: 'left' | 'right';
}

const GAP = '  ';
const EMPTY = '–';
/** Control characters, line separators, and marks that reverse or hide the order of everything after them on the line. */
const UNSHOWN = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/** Formats rows as aligned columns under their titles, without color or frame, so that `grep` and `awk` can process them. */
export function textTable<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string {
  const cells = rows.map((row) => columns.map((column) => textOf(column.value(row))));
  const lines = [columns.map((column) => column.title.toUpperCase()), ...cells];
  const widths = columns.map((_, index) => Math.max(...lines.map((line) => line[index]?.length ?? 0)));
  return lines.map((line) => padded(line, widths, columns)).join('\n');
}

/** Formats a record as a list of names and values. */
export function textRecord(entries: readonly (readonly [name: string, value: unknown])[]): string {
  const width = Math.max(...entries.map(([name]) => name.length));
  return entries.map(([name, value]) => `${name.padEnd(width)}${GAP}${textOf(value)}`).join('\n');
}

/** Formats a time in UTC for people. */
export function textTime(time: string | null): string | null {
  return time === null ? null : `${time.slice(0, 10)} ${time.slice(11, 19)}`;
}

function padded<Row>(
  line: readonly string[],
  widths: readonly number[],
  columns: readonly Column<Row>[],
): string {
  const texts = line.map((text, index) => {
    const width = widths[index] ?? 0;
    return columns[index]?.align === 'right' ? text.padStart(width) : text.padEnd(width);
  });
  return texts.join(GAP).trimEnd();
}

/** Replaces what a terminal would obey: a customer's text must neither control it nor turn the rest of the line around. */
export function terminalText(text: string): string {
  return text.replace(UNSHOWN, ' ');
}

function textOf(value: unknown): string {
  if (value === null || value === undefined || value === '') {
    return EMPTY;
  }
  return terminalText(String(value));
}
