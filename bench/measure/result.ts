import { writeFileSync } from 'node:fs';
import { machineFacts, markdownTable } from './table.ts';

/** One figure of a bench. */
export interface BenchRow {
  /** What was measured, with its unit. */
  readonly figure: string;
  /** The same of what it is held against, measured in the same run; empty where there is nothing to hold it against. */
  readonly baseline: string;
  readonly tollgate: string;
  /** The ratio, or what is said about the figure. */
  readonly compared: string;
}

export interface BenchResult {
  /** The conditions, in a sentence. */
  readonly conditions: string;
  readonly rows: readonly BenchRow[];
}

const FILE_OPTION = '--result=';

/** What the arguments of a bench say that is to be told to the one who runs all of them. */
export function resultOption(file: string): string {
  return FILE_OPTION + file;
}

/** The head of the table of {@link benchTable}. */
export const BENCH_COLUMNS = ['', 'baseline in the same run', 'Tollgate', 'compared'] as const;

export function benchCells({ figure, baseline, tollgate, compared }: BenchRow): string[] {
  return [figure, baseline, tollgate, compared];
}

/** Prints a bench's table, and writes its rows into the file that `--result=` names. */
export function publishResult(result: BenchResult): void {
  const table = markdownTable([BENCH_COLUMNS, ...result.rows.map(benchCells)]);
  process.stdout.write(`${result.conditions} ${machineFacts()}\n\n${table}\n`);
  const file = process.argv.find((argument) => argument.startsWith(FILE_OPTION))?.slice(FILE_OPTION.length);
  if (file !== undefined) {
    writeFileSync(file, JSON.stringify(result));
  }
}
