import type { Command } from 'commander';
import type { StatementJson } from '../../statements.schema.ts';
import { CliContext, type CliSurroundings } from '../cli-context.ts';
import type { Column } from '../text-table.ts';
import { accountPath } from './accounts.command.ts';

const COLUMNS: readonly Column<StatementJson>[] = [
  { title: 'month', value: (row) => row.period_start.slice(0, 7) },
  { title: 'version', value: (row) => String(row.version), align: 'right' },
  { title: 'statement', value: (row) => row.id },
  { title: 'status', value: (row) => row.status },
  { title: 'opening', value: (row) => row.opening_balance, align: 'right' },
  { title: 'purchases', value: (row) => row.credit_purchase_total, align: 'right' },
  { title: 'usage', value: (row) => row.usage_charge_total, align: 'right' },
  { title: 'refunds', value: (row) => row.refund_total, align: 'right' },
  { title: 'adjustments', value: (row) => row.adjustment_total, align: 'right' },
  { title: 'closing', value: (row) => row.closing_balance, align: 'right' },
  { title: 'reissued', value: (row) => row.reissue_reason },
];

/** `tollgate statements …` */
export function addStatementCommands(program: Command, surroundings: CliSurroundings): void {
  const statements = program.command('statements').description('manage the monthly statements of an account');
  statements
    .command('list <account>')
    .description('list closed statements, including void ones, newest first')
    .action(async (account: string, _options: object, command: Command) => {
      const context = await CliContext.of(command, surroundings);
      context.showRows(
        await context.client.get<StatementJson[]>(`${accountPath(account)}/statements`),
        COLUMNS,
      );
    });
  statements
    .command('reissue <account> <month>')
    .description(
      'reissue the statement of a closed month, e.g. 2028-05; the old one becomes void, later ones follow',
    )
    .requiredOption('-r, --reason <text>', 'reason; stored with the new statement')
    .action(async (account: string, month: string, options: { reason: string }, command: Command) => {
      const context = await CliContext.of(command, surroundings);
      const path = `${accountPath(account)}/statements/${encodeURIComponent(month)}/reissue`;
      const { data } = await context.client.send<{ data: StatementJson[] }>('POST', path, options);
      context.showRows(data, COLUMNS);
    });
}
