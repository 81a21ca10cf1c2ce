import type { Command } from 'commander';
import { csvLine, inert } from '../../../lib/csv.ts';
import type { AuditEntryJson } from '../../audit.schema.ts';
import { CliContext, type CliSurroundings } from '../cli-context.ts';
import { CliError, EXIT } from '../cli-error.ts';
import { type Column, textTime } from '../text-table.ts';

const PATH = '/admin/v1/audit';
const COLUMNS: readonly Column<AuditEntryJson>[] = [
  { title: 'time', value: (row) => textTime(row.at) },
  { title: 'actor', value: (row) => row.actor },
  { title: 'action', value: (row) => row.action },
  { title: 'object', value: (row) => row.object },
  { title: 'request', value: (row) => row.request_id },
  { title: 'detail', value: (row) => JSON.stringify(row.detail) },
];

interface AuditOptions {
  readonly actor?: string;
  readonly action?: string;
  readonly object?: string;
  readonly from?: string;
  readonly to?: string;
  readonly limit?: string;
  readonly csv?: boolean;
}

/** `tollgate audit` */
export function addAuditCommand(program: Command, surroundings: CliSurroundings): void {
  program
    .command('audit')
    .description('list operator actions, newest first')
    .option('--actor <actor>', 'only actions of this operator, e.g. alice')
    .option('--action <action>', 'only actions of this kind, e.g. account.update')
    .option('--object <id>', 'only actions on this object')
    .option('--from <time>', 'inclusive, e.g. 2028-05-01T00:00:00Z')
    .option('--to <time>', 'exclusive')
    .option('-n, --limit <rows>', 'number of rows, or "all"')
    .option('--csv', 'print all of it as CSV, for a spreadsheet')
    .action(async ({ actor, action, object, from, to, limit, csv }: AuditOptions, command: Command) => {
      const context = await CliContext.of(command, surroundings);
      const query = { actor, action, object, start_time: from, end_time: to };
      if (csv && limit !== undefined) {
        throw new CliError('--csv prints every row: leave out --limit, or use --from and --to', EXIT.usage);
      }
      if (csv) {
        await context.showText(csvOf(context.client.pages<AuditEntryJson>(PATH, query)));
      } else {
        await context.showList(PATH, query, limit, COLUMNS);
      }
    });
}

async function* csvOf(pages: AsyncIterable<readonly AuditEntryJson[]>): AsyncGenerator<string> {
  yield csvLine(['id', 'at', 'actor', 'action', 'object', 'request_id', 'detail']);
  for await (const page of pages) {
    for (const { id, at, actor, action, object, request_id, detail } of page) {
      const texts = [actor, action, object, request_id ?? '', JSON.stringify(detail)];
      yield csvLine([id, at, ...texts.map(inert)]);
    }
  }
}
