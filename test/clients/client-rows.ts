import { markdownTable } from '../../bench/measure/table.ts';

/** One thing that a client must do, or be told. */
export interface ClientRow {
  readonly client: string;
  readonly call: string;
  /** What was seen, for the table. Throws with what is wrong. */
  run(): Promise<string>;
}

/** Runs rows one after the other, prints them as a table and then what the ledger finds. Returns how much of it is wrong. */
export async function runRows(
  rows: readonly ClientRow[],
  violationsOf: () => Promise<readonly string[]>,
): Promise<number> {
  const table: string[][] = [['Client', 'Call', 'Seen', '']];
  let failures = 0;
  for (const row of rows) {
    const seen = await row.run().then(
      (text) => ({ text, verdict: 'ok' }),
      (error: unknown) => ({ text: String(error), verdict: '**no**' }),
    );
    failures += seen.verdict === 'ok' ? 0 : 1;
    table.push([row.client, row.call, seen.text.replaceAll(/\s+/g, ' '), seen.verdict]);
  }
  const violations = await violationsOf();
  table.push([
    'Ledger',
    'every invariant',
    violations.join('; ') || 'holds',
    violations.length ? '**no**' : 'ok',
  ]);
  process.stdout.write(`${markdownTable(table)}\n`);
  return failures + violations.length;
}
