import type { Command } from 'commander';
import type { AccountJson } from '../../operators.schema.ts';
import { CliContext, type CliSurroundings } from '../cli-context.ts';
import { CliError, EXIT } from '../cli-error.ts';
import { type Column, textTime } from '../text-table.ts';

const COLUMNS: readonly Column<AccountJson>[] = [
  { title: 'account', value: (row) => row.id },
  { title: 'name', value: (row) => row.name },
  { title: 'remaining', value: (row) => row.remaining_credits, align: 'right' },
  { title: 'used', value: (row) => row.total_usage, align: 'right' },
  { title: 'held', value: (row) => row.held, align: 'right' },
  { title: 'debt', value: (row) => row.debt, align: 'right' },
  { title: 'state', value: stateOf },
  { title: 'created', value: (row) => textTime(row.created_at) },
];

interface CreateOptions {
  readonly credits: string;
  readonly idempotencyKey?: string;
}

interface BillingOptions {
  readonly name?: string;
  readonly address?: readonly string[];
  readonly taxId?: string;
  readonly clear?: boolean;
}

/** `tollgate accounts …` */
export function addAccountCommands(program: Command, surroundings: CliSurroundings): void {
  const accounts = program.command('accounts').description('manage accounts, their permissions and limits');
  accounts
    .command('list')
    .description('list accounts, newest first')
    .option('-n, --limit <rows>', 'number of rows, or "all"')
    .action(async (options: { limit?: string }, command: Command) => {
      const context = await CliContext.of(command, surroundings);
      await context.showList('/admin/v1/accounts', {}, options.limit, COLUMNS);
    });
  accounts
    .command('show <account>')
    .description('show an account')
    .action(async (id: string, _options: object, command: Command) => {
      const context = await CliContext.of(command, surroundings);
      showAccount(context, await context.client.get<AccountJson>(accountPath(id)));
    });
  addCreateCommand(accounts, surroundings);
  addPermissionCommands(accounts, surroundings);
  accounts
    .command('erase <account>')
    .description('close an account permanently and remove its personal data; the ledger is kept')
    .requiredOption('--yes', 'confirm; this cannot be undone')
    .action(async (id: string, _options: object, command: Command) => {
      const context = await CliContext.of(command, surroundings);
      const { data } = await context.client.send<{ data: AccountJson }>('DELETE', accountPath(id));
      showAccount(context, data);
    });
  addBoundCommands(accounts, surroundings);
  addBillingCommand(accounts, surroundings);
}

function addCreateCommand(accounts: Command, surroundings: CliSurroundings): void {
  accounts
    .command('create <name>')
    .description('open an account; its owner key is shown once')
    .option('-c, --credits <usd>', 'opening credits', '0')
    .option(
      '-k, --idempotency-key <key>',
      'repeating the command with the same key opens the account only once',
    )
    .action(async (name: string, options: CreateOptions, command: Command) => {
      const context = await CliContext.of(command, surroundings);
      const body = { name, credits: options.credits };
      const created = await context.client.sendOnce<{ data: AccountJson; key: string }>(
        '/admin/v1/accounts',
        body,
        options.idempotencyKey,
      );
      const { data, key } = created;
      context.showRecord({ ...data, key }, [...entriesOf(data), ['Owner key', `${key}  (shown only once)`]]);
    });
}

/** Whether an account may make paid calls, and with which models. */
function addPermissionCommands(accounts: Command, surroundings: CliSurroundings): void {
  for (const suspended of [true, false]) {
    accounts
      .command(`${suspended ? 'suspend' : 'resume'} <account>`)
      .description(suspended ? 'reject paid calls of an account from now on' : 'end a suspension')
      .action(async (id: string, _options: object, command: Command) => {
        await change(await CliContext.of(command, surroundings), id, { suspended });
      });
  }
  accounts
    .command('allow-models <account> [models...]')
    .description('restrict an account to the given models')
    .option('--all', 'allow every model')
    .action(async (id: string, models: string[], options: { all?: boolean }, command: Command) => {
      if ((options.all ?? false) === models.length > 0) {
        throw new CliError('name the models, or use --all', EXIT.usage);
      }
      const context = await CliContext.of(command, surroundings);
      await change(context, id, { allowed_models: options.all ? null : models });
    });
}

/** Maximum number of keys and rate limits of an account. */
function addBoundCommands(accounts: Command, surroundings: CliSurroundings): void {
  accounts
    .command('max-keys <account> <count>')
    .description('set the maximum number of keys of an account')
    .action(async (id: string, count: string, _options: object, command: Command) => {
      await change(await CliContext.of(command, surroundings), id, { max_keys: countOf('count')(count) });
    });
  accounts
    .command('limits <account>')
    .description(
      'set the limits shared by all keys of an account; omitted limits fall back to the configured defaults',
    )
    .option('--requests-per-minute <count>', 'requests per minute', countOf('--requests-per-minute'))
    .option('--tokens-per-minute <count>', 'tokens per minute', countOf('--tokens-per-minute'))
    .option('--concurrency <count>', 'paid calls in flight at once', countOf('--concurrency'))
    .option(
      '--queued-tasks <count>',
      'maximum number of tasks that may wait for one pool',
      countOf('--queued-tasks'),
    )
    .action(async (id: string, options: LimitOptions, command: Command) => {
      const limits = {
        requests_per_minute: options.requestsPerMinute,
        tokens_per_minute: options.tokensPerMinute,
        concurrency: options.concurrency,
        queued_tasks: options.queuedTasks,
      };
      const isNamed = Object.values(limits).some((limit) => limit !== undefined);
      const context = await CliContext.of(command, surroundings);
      await change(context, id, { rate_limits: isNamed ? limits : null });
    });
}

function addBillingCommand(accounts: Command, surroundings: CliSurroundings): void {
  accounts
    .command('billing <account>')
    .description('set the name and address on statements and receipts')
    .option('-n, --name <name>', 'name of the customer')
    .option('-l, --address <lines...>', 'address lines')
    .option('-t, --tax-id <id>', 'tax number of the customer')
    .option('--clear', 'remove the details; documents then show only the name of the account')
    .action(async (id: string, options: BillingOptions, command: Command) => {
      if ((options.name === undefined) !== (options.clear ?? false)) {
        throw new CliError('use --name or --clear', EXIT.usage);
      }
      const { name, address, taxId } = options;
      const context = await CliContext.of(command, surroundings);
      await change(context, id, { billing: options.clear ? null : { name, address, tax_id: taxId } });
    });
}

interface LimitOptions {
  readonly requestsPerMinute?: number;
  readonly tokensPerMinute?: number;
  readonly concurrency?: number;
  readonly queuedTasks?: number;
}

/** Returns the reader of a count. `name` is what the person at the terminal calls it. */
function countOf(name: string): (text: string) => number {
  return (text) => {
    if (!/^[1-9][0-9]*$/.test(text)) {
      throw new CliError(`${name} must be a whole number above zero, not "${text}"`, EXIT.usage);
    }
    return Number(text);
  };
}

/** Returns the path of an account in the operator API. */
export function accountPath(id: string): string {
  return `/admin/v1/accounts/${encodeURIComponent(id)}`;
}

async function change(context: CliContext, id: string, body: object): Promise<void> {
  const { data } = await context.client.send<{ data: AccountJson }>('PATCH', accountPath(id), body);
  showAccount(context, data);
}

/** Prints one account. */
export function showAccount(context: CliContext, account: AccountJson): void {
  context.showRecord(account, entriesOf(account));
}

function entriesOf(account: AccountJson): readonly (readonly [string, unknown])[] {
  return [
    ['Account', account.id],
    ['Name', account.name],
    ['State', stateOf(account)],
    ['Models', account.allowed_models === null ? 'all' : account.allowed_models.join(', ') || 'none'],
    ['Max keys', account.max_keys],
    ['Limits', account.rate_limits === null ? 'as configured' : JSON.stringify(account.rate_limits)],
    ['Remaining', `${account.remaining_credits} USD`],
    ['Used', `${account.total_usage} USD`],
    ['Held', `${account.held} USD`],
    ['Debt', `${account.debt} USD`],
    ['Billed as', billedAs(account)],
    ['Created', textTime(account.created_at)],
  ];
}

function stateOf(account: AccountJson): string {
  if (account.erased_at !== null) {
    return `erased ${textTime(account.erased_at)}`;
  }
  return account.suspended ? 'suspended' : 'active';
}

function billedAs({ name, billing }: AccountJson): string {
  return billing === null
    ? name
    : [billing.name, ...billing.address, ...(billing.tax_id === null ? [] : [billing.tax_id])].join(', ');
}
