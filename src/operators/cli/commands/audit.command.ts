import type { Command } from 'commander';
import type { AuditEntryJson } from '../../audit.schema.ts';
import { CliContext, type CliSurroundings } from '../cli-context.ts';
import { type Column, textTime } from '../text-table.ts';

const COLUMNS: readonly Column<AuditEntryJson>[] = [
  { title: 'time', value: (row) => textTime(row.at) },
  { title: 'actor', value: (row) => row.actor },
  { title: 'action', value: (row) => row.action },
  { title: 'object', value: (row) => row.object },
  { title: 'request', value: (row) => row.request_id },
  { title: 'detail', value: (row) => JSON.stringify(row.detail) },
];

/** `tollgate audit` */
export function addAuditCommand(program: Command, surroundings: CliSurroundings): void {
  program
    .command('audit')
    .description('list what operators did, newest first')
    .option('--action <action>', 'only this kind of action, e.g. account.update')
    .option('--object <id>', 'only actions on this object')
    .option('-n, --limit <rows>', 'how many, or "all"')
    .action(async (options: { action?: string; object?: string; limit?: string }, command: Command) => {
      const context = await CliContext.of(command, surroundings);
      const query = { action: options.action, object: options.object };
      await context.showList('/admin/v1/audit', query, options.limit, COLUMNS);
    });
}
