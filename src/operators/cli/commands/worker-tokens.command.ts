import type { Command } from 'commander';
import type { WorkerTokenJson } from '../../worker-tokens.schema.ts';
import { CliContext, type CliSurroundings } from '../cli-context.ts';
import { type Column, textTime } from '../text-table.ts';

const PATH = '/admin/v1/worker-tokens';
const COLUMNS: readonly Column<WorkerTokenJson>[] = [
  { title: 'name', value: (row) => row.name },
  { title: 'pools', value: (row) => row.pools.join(',') },
  { title: 'by', value: (row) => row.created_by },
  { title: 'created', value: (row) => textTime(row.created_at) },
  { title: 'last used', value: (row) => textTime(row.last_used_at) },
  { title: 'revoked', value: (row) => textTime(row.revoked_at) },
];

/** `tollgate worker-tokens …` */
export function addWorkerTokenCommands(program: Command, surroundings: CliSurroundings): void {
  const tokens = program
    .command('worker-tokens')
    .description('tokens of workers on hosts without a database');
  tokens
    .command('list')
    .description('list tokens, newest first, including revoked ones')
    .action(async (_options: object, command: Command) => {
      const context = await CliContext.of(command, surroundings);
      context.showRows(await context.client.get<WorkerTokenJson[]>(PATH), COLUMNS);
    });
  tokens
    .command('create <name>')
    .description('create a token; it is shown only once')
    .requiredOption('--pools <ids>', 'pools whose tasks it gives access to, comma-separated')
    .action(async (name: string, options: { pools: string }, command: Command) => {
      const context = await CliContext.of(command, surroundings);
      const body = { name, pools: options.pools.split(',').map((pool) => pool.trim()) };
      const { data, token } = await context.client.send<{ data: WorkerTokenJson; token: string }>(
        'POST',
        PATH,
        body,
      );
      const text = `Token ${data.name} gives access to ${data.pools.join(', ')}. It is shown only once:\nWORKER_TOKEN=${token}`;
      context.showResult({ ...data, token }, text);
    });
  tokens
    .command('revoke <name>')
    .description('revoke a token: its workers are rejected on their next call')
    .action(async (name: string, _options: object, command: Command) => {
      const context = await CliContext.of(command, surroundings);
      const path = `${PATH}/${encodeURIComponent(name)}`;
      const { data } = await context.client.send<{ data: WorkerTokenJson }>('DELETE', path);
      context.showResult(
        data,
        `Token ${data.name} is revoked. The tasks its workers are running will be retried elsewhere.`,
      );
    });
}
