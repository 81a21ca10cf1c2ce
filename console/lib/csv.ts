const FORMULA = /^[=+\-@\t\r]/;
const AMOUNT = /^-?\d+(\.\d+)?$/;

/** RFC 4180. What a spreadsheet would take for a formula is told to be text, amounts excepted. */
export function csvText(lines: readonly (readonly string[])[]): string {
  return lines.map((cells) => `${cells.map(cell).join(',')}\r\n`).join('');
}

function cell(text: string): string {
  const safe = FORMULA.test(text) && !AMOUNT.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
