import { markdownTable } from '../../bench/measure/table.ts';

/** One thing that a client must do, or an error it must receive. */
export interface ClientRow {
  readonly client: string;
  readonly call: string;
  /** Returns what was observed, for the table. Throws what is wrong. */
  run(): Promise<string>;
}

/** The results of the rows of a run. */
export interface RowResults {
  /** Number of rows, and of ledger invariants, that are wrong. */
  readonly wrong: number;
  readonly rows: readonly { readonly client: string; readonly call: string; readonly isRight: boolean }[];
}

/** Runs rows one after the other, prints them as a table, then prints the violations of the ledger. */
export async function runRows(
  rows: readonly ClientRow[],
  violationsOf: () => Promise<readonly string[]>,
): Promise<RowResults> {
  const table: string[][] = [['Client', 'Call', 'Seen', '']];
  const results: RowResults['rows'][number][] = [];
  for (const row of rows) {
    const seen = await row.run().then(
      (text) => ({ text, verdict: 'ok' }),
      (error: unknown) => ({ text: String(error), verdict: '**no**' }),
    );
    results.push({ client: row.client, call: row.call, isRight: seen.verdict === 'ok' });
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
  return { wrong: results.filter(({ isRight }) => !isRight).length + violations.length, rows: results };
}
