import { writeFileSync } from 'node:fs';
import { machineFacts, markdownTable } from './table.ts';

/** One figure of a bench and its baseline. */
export interface BenchRow {
  /** What was measured, with its unit. */
  readonly figure: string;
  /** The baseline's value, measured in the same run; empty when there is no baseline. */
  readonly baseline: string;
  readonly tollgate: string;
  /** The ratio, or a remark about the figure. */
  readonly compared: string;
}

export interface BenchTable {
  /** Describes the table when a bench has several; empty when it has one. */
  readonly title: string;
  /** The first row is the head. */
  readonly rows: readonly (readonly string[])[];
}

export interface BenchResult {
  /** The conditions, in one or more sentences. */
  readonly conditions: string;
  readonly tables: readonly BenchTable[];
  /** Sentences that other documents quote, by the name in their `<!-- bench: name -->` mark. */
  readonly headlines: Readonly<Record<string, string>>;
}

const FILE_OPTION = '--result=';

/** Returns the argument that makes a bench write its result to a file, for the script that runs all benches. */
export function resultOption(file: string): string {
  return FILE_OPTION + file;
}

/** Returns a table of figures beside their baseline. */
export function comparedTable(rows: readonly BenchRow[], title = ''): BenchTable {
  const cells = rows.map(({ figure, baseline, tollgate, compared }) => [
    figure,
    baseline,
    tollgate,
    compared,
  ]);
  return { title, rows: [['', 'baseline in the same run', 'Tollgate', 'compared'], ...cells] };
}

/** Returns the result of a bench as it appears in the documents. */
export function resultText({ conditions, tables }: BenchResult): string {
  const parts = tables.map(({ title, rows }) => `${title && `${title}\n\n`}${markdownTable(rows)}`);
  return [`${conditions} ${machineFacts()}.`, ...parts].join('\n\n');
}

/** Prints the result of a bench and writes it to the file that `--result=` names. */
export function publishResult(result: BenchResult): void {
  process.stdout.write(`${resultText(result)}\n`);
  for (const sentence of Object.values(result.headlines)) {
    process.stdout.write(`\n${sentence}\n`);
  }
  const file = process.argv.find((argument) => argument.startsWith(FILE_OPTION))?.slice(FILE_OPTION.length);
  if (file !== undefined) {
    writeFileSync(file, JSON.stringify(result));
  }
}
