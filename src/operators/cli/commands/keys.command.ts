import type { Command } from 'commander';
import type { ApiKeyJson } from '../../../keys/keys.schema.ts';
import { CliContext, type CliSurroundings } from '../cli-context.ts';
import { CliError, EXIT } from '../cli-error.ts';
import { type Column, terminalText, textTime } from '../text-table.ts';
import { accountPath } from './accounts.command.ts';

const COLUMNS: readonly Column<ApiKeyJson>[] = [
  { title: 'hash', value: (row) => row.hash },
  { title: 'name', value: (row) => row.name },
  { title: 'role', value: (row) => row.role },
  { title: 'state', value: (row) => (row.disabled ? 'disabled' : 'active') },
  { title: 'used', value: (row) => row.usage, align: 'right' },
  { title: 'limit', value: (row) => row.limit ?? 'none', align: 'right' },
  { title: 'last used', value: (row) => textTime(row.last_used_at) },
];

interface CreateOptions {
  readonly role: string;
  readonly limit?: string;
}

/** `tollgate keys …` */
export function addKeyCommands(program: Command, surroundings: CliSurroundings): void {
  const keys = program.command('keys').description('manage the API keys of an account');
  keys
    .command('list <account>')
    .description('list the keys of an account, newest first')
    .option('-n, --limit <rows>', 'number of rows, or "all"')
    .action(async (account: string, options: { limit?: string }, command: Command) => {
      const context = await CliContext.of(command, surroundings);
      await context.showList(`${accountPath(account)}/keys`, {}, options.limit, COLUMNS);
    });
  keys
    .command('create <account> <name>')
    .description('create a key, e.g. for an owner who lost the last one; the secret is shown once')
    .option('-r, --role <role>', 'owner or inference', 'inference')
    .option('-l, --limit <usd>', 'spending limit over the lifetime of the key, in USD')
    .action(async (account: string, name: string, options: CreateOptions, command: Command) => {
      const limit = options.limit === undefined ? null : Number(options.limit);
      // JSON has no infinity: the key would have no limit; and an empty text would be read as 0
      if (limit !== null && (!Number.isFinite(limit) || options.limit?.trim() === '')) {
        throw new CliError(`--limit must be an amount in USD, not "${options.limit}"`, EXIT.usage);
      }
      const context = await CliContext.of(command, surroundings);
      const body = { name, role: options.role, limit };
      const path = `${accountPath(account)}/keys`;
      const created = await context.client.send<{ data: ApiKeyJson; key: string }>('POST', path, body);
      context.showRecord({ ...created.data, key: created.key }, [
        ['Hash', created.data.hash],
        ['Name', created.data.name],
        ['Role', created.data.role],
        ['Key', `${created.key}  (shown only once)`],
      ]);
    });
  for (const disabled of [true, false]) {
    keys
      .command(`${disabled ? 'disable' : 'enable'} <account> <hash>`)
      .description(disabled ? 'reject a key from now on' : 'enable a disabled key again')
      .action(async (account: string, hash: string, _options: object, command: Command) => {
        const context = await CliContext.of(command, surroundings);
        const path = `${accountPath(account)}/keys/${encodeURIComponent(hash)}`;
        const { data } = await context.client.send<{ data: ApiKeyJson }>('PATCH', path, { disabled });
        context.showResult(
          data,
          `Key ${terminalText(data.name)} is ${data.disabled ? 'disabled' : 'active'}.`,
        );
      });
  }
}
