import { writeFileSync } from 'node:fs';
import { machineFacts, markdownTable } from './table.ts';

/** One figure of a bench and what it is held against. */
export interface BenchRow {
  /** What was measured, with its unit. */
  readonly figure: string;
  /** The same of what it is held against, measured in the same run; empty where there is nothing to hold it against. */
  readonly baseline: string;
  readonly tollgate: string;
  /** The ratio, or what is said about the figure. */
  readonly compared: string;
}

export interface BenchTable {
  /** Says what the table shows, where a bench has several; empty where it has one. */
  readonly title: string;
  /** The first row is the head. */
  readonly rows: readonly (readonly string[])[];
}

export interface BenchResult {
  /** The conditions, in a sentence or a few. */
  readonly conditions: string;
  readonly tables: readonly BenchTable[];
  /** Sentences that other documents quote, by the name that they are marked with there. */
  readonly headlines: Readonly<Record<string, string>>;
}

const FILE_OPTION = '--result=';

/** What the arguments of a bench say that is to be told to the one who runs all of them. */
export function resultOption(file: string): string {
  return FILE_OPTION + file;
}

/** A table of figures beside their baseline. */
export function comparedTable(rows: readonly BenchRow[], title = ''): BenchTable {
  const cells = rows.map(({ figure, baseline, tollgate, compared }) => [
    figure,
    baseline,
    tollgate,
    compared,
  ]);
  return { title, rows: [['', 'baseline in the same run', 'Tollgate', 'compared'], ...cells] };
}

/** What a bench found, as it stands in the documents. */
export function resultText({ conditions, tables }: BenchResult): string {
  const parts = tables.map(({ title, rows }) => `${title && `${title}\n\n`}${markdownTable(rows)}`);
  return [`${conditions} ${machineFacts()}.`, ...parts].join('\n\n');
}

/** Prints what a bench found, and writes it into the file that `--result=` names. */
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
