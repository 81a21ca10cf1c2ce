import type { Command } from 'commander';
import type { DeliveryJson } from '../../deliveries.schema.ts';
import { CliContext, type CliSurroundings } from '../cli-context.ts';
import { type Column, textTime } from '../text-table.ts';

const PATH = '/admin/v1/webhooks/deliveries';
const COLUMNS: readonly Column<DeliveryJson>[] = [
  { title: 'delivery', value: (row) => row.id },
  { title: 'state', value: (row) => row.state },
  { title: 'tries', value: (row) => row.tries, align: 'right' },
  { title: 'last answer', value: (row) => row.last_http_status ?? row.last_error },
  { title: 'of', value: (row) => row.task_id ?? row.event_type },
  { title: 'next try', value: (row) => textTime(row.next_try_at) },
  { title: 'url', value: (row) => row.url },
];

interface ListOptions {
  readonly state?: string;
  readonly account?: string;
  readonly task?: string;
  readonly limit?: string;
}

/** `tollgate webhooks …` */
export function addWebhookCommands(program: Command, surroundings: CliSurroundings): void {
  const webhooks = program.command('webhooks').description('webhook deliveries to customers');
  webhooks
    .command('list')
    .description('list deliveries, newest first')
    .option('-s, --state <state>', 'pending, delivered or failed')
    .option('-a, --account <account>', 'only deliveries of this account')
    .option('-t, --task <task>', 'only deliveries of this task')
    .option('-n, --limit <rows>', 'number of rows, or "all"')
    .action(async (options: ListOptions, command: Command) => {
      const context = await CliContext.of(command, surroundings);
      const query = { state: options.state, account_id: options.account, task_id: options.task };
      await context.showList(PATH, query, options.limit, COLUMNS);
    });
  webhooks
    .command('redeliver <delivery>')
    .description('retry a delivery now')
    .action(async (id: string, _options: object, command: Command) => {
      const context = await CliContext.of(command, surroundings);
      const path = `${PATH}/${encodeURIComponent(id)}/redeliver`;
      const { data } = await context.client.send<{ data: DeliveryJson }>('POST', path);
      context.showResult(data, `Delivery ${data.id} is ${data.state}; its next try is due now.`);
    });
}
