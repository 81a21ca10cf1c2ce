import type { Command } from 'commander';
import type { LedgerEntryJson } from '../../ledger-entries.schema.ts';
import { CliContext, type CliSurroundings } from '../cli-context.ts';
import { CliError, EXIT } from '../cli-error.ts';
import { EXPORT_FORMATS, type ExportFormat, exportBooks } from './books-export.ts';

interface ExportOptions {
  readonly from?: string;
  readonly to?: string;
  readonly format: string;
}

/** `tollgate books …` */
export function addBookCommands(program: Command, surroundings: CliSurroundings): void {
  const books = program.command('books').description('the ledger for bookkeepers');
  books
    .command('export')
    .description('every entry of all accounts in a period, for a spreadsheet, hledger or beancount')
    .option('--from <time>', 'inclusive, e.g. 2028-05-01T00:00:00Z')
    .option('--to <time>', 'exclusive')
    .option('-f, --format <format>', EXPORT_FORMATS.join(', '), 'csv')
    .action(async ({ from, to, format }: ExportOptions, command: Command) => {
      if (!isFormat(format)) {
        throw new CliError(`--format: ${format} is none of ${EXPORT_FORMATS.join(', ')}`, EXIT.usage);
      }
      const context = await CliContext.of(command, surroundings);
      let read = 0;
      const entries = await context.progress.wheel(
        () => `${read} entries,`,
        () =>
          context.client.list<LedgerEntryJson>(
            '/admin/v1/ledger/entries',
            { start_time: from, end_time: to },
            Number.POSITIVE_INFINITY,
            (count) => {
              read = count;
            },
          ),
      );
      context.showResult(entries, exportBooks(entries, format));
    });
}

function isFormat(text: string): text is ExportFormat {
  return EXPORT_FORMATS.some((format) => format === text);
}
