import type { Command } from 'commander';
import type { TransactionJson } from '../../../billing/transactions.schema.ts';
import type { GenerationJson } from '../../../generations/generations.schema.ts';
import type { ChargeRecordJson } from '../../lookup/charge-record.schema.ts';
import type { Finding } from '../../lookup/search.schema.ts';
import { CliContext, type CliSurroundings } from '../cli-context.ts';
import { CliError, EXIT } from '../cli-error.ts';
import { type Column, textTable, textTime } from '../text-table.ts';
import { accountPath } from './accounts.command.ts';

const FINDINGS: readonly Column<Finding>[] = [
  { title: 'kind', value: (row) => row.kind },
  { title: 'id', value: (row) => row.id },
  { title: 'account', value: (row) => row.account_id },
  { title: 'summary', value: (row) => row.summary },
];

const GENERATIONS: readonly Column<GenerationJson>[] = [
  { title: 'time', value: (row) => textTime(row.created_at) },
  { title: 'generation', value: (row) => row.id },
  { title: 'status', value: (row) => row.status },
  { title: 'model', value: (row) => row.model },
  { title: 'input', value: (row) => row.usage.input_tokens, align: 'right' },
  { title: 'output', value: (row) => row.usage.output_tokens, align: 'right' },
  { title: 'charged', value: (row) => row.charged_amount, align: 'right' },
  { title: 'ms', value: (row) => row.latency_ms, align: 'right' },
  { title: 'error', value: (row) => row.error?.code },
];

const TRANSACTIONS: readonly Column<TransactionJson>[] = [
  { title: 'time', value: (row) => textTime(row.created_at) },
  { title: 'transaction', value: (row) => row.id },
  { title: 'type', value: (row) => row.type },
  { title: 'reason', value: (row) => row.reason_code },
  { title: 'amount', value: (row) => row.amount.value, align: 'right' },
  { title: 'balance', value: (row) => row.balance_after.value, align: 'right' },
  { title: 'description', value: (row) => row.description },
];

/** `tollgate why`, `tollgate search`, and the history of an account. */
export function addLookupCommands(program: Command, surroundings: CliSurroundings): void {
  program
    .command('search <text>')
    .description("find what an id, a key's hash or label, payment, document number or name refers to")
    .action(async (text: string, _options: object, command: Command) => {
      const context = await CliContext.of(command, surroundings);
      context.showRows(await search(context, text), FINDINGS);
    });
  program
    .command('why <id>')
    .description('explain a charge: give the id of the call or task, of its request or of its transaction')
    .action(async (id: string, _options: object, command: Command) => {
      const context = await CliContext.of(command, surroundings);
      const path = `/admin/v1/generations/${encodeURIComponent(await recordOf(context, id))}`;
      const record = await context.client.get<ChargeRecordJson>(path);
      context.showRecord(record, entriesOf(record));
    });
  addHistoryCommands(program, surroundings);
}

function addHistoryCommands(program: Command, surroundings: CliSurroundings): void {
  program
    .command('generations <account>')
    .description('list the ended calls and tasks of an account, newest first')
    .option('-s, --status <status>', 'completed, failed or cancelled')
    .option('-m, --model <model>', 'only this model')
    .option('-k, --key <hash>', 'only this key')
    .option('-n, --limit <rows>', 'number of rows, or "all"')
    .action(async (account: string, options: Record<string, string | undefined>, command: Command) => {
      const context = await CliContext.of(command, surroundings);
      const query = { status: options.status, model: options.model, api_key_hash: options.key };
      await context.showList(`${accountPath(account)}/generations`, query, options.limit, GENERATIONS);
    });
  program
    .command('transactions <account>')
    .description('list the ledger entries of an account, newest first')
    .option('-t, --type <type>', 'credit_purchase, usage_charge, refund or adjustment')
    .option('-n, --limit <rows>', 'number of rows, or "all"')
    .action(async (account: string, options: Record<string, string | undefined>, command: Command) => {
      const context = await CliContext.of(command, surroundings);
      const query = { type: options.type };
      await context.showList(`${accountPath(account)}/transactions`, query, options.limit, TRANSACTIONS);
    });
}

function search(context: CliContext, text: string): Promise<Finding[]> {
  return context.client.get<Finding[]>(`/admin/v1/search?q=${encodeURIComponent(text)}`);
}

/** Resolves an id to one that has a charge record: a generation's or a request's own, or that of the generation that a transaction charged. */
async function recordOf(context: CliContext, id: string): Promise<string> {
  if (id.startsWith('gen-') || id.startsWith('req_')) {
    return id;
  }
  if (id.startsWith('txn_U')) {
    return `gen-${id.slice('txn_U'.length)}`;
  }
  const found = (await search(context, id)).find(({ kind }) => kind === 'generation');
  if (!found) {
    throw new CliError(`no call or task found for ${id}; try: tollgate search ${id}`, EXIT.refused);
  }
  return found.id;
}

type Entries = readonly (readonly [string, unknown])[];

function entriesOf(record: ChargeRecordJson): Entries {
  return [
    ['Generation', `${record.id}, ${record.status}`],
    ['Account', `${record.account_name} (${record.account_id})`],
    ['Key', `${record.api_key_name} (${record.api_key_hash})`],
    ['Request', `${record.request_id} ${record.endpoint}${record.streamed ? ', streamed' : ''}`],
    ['Model', record.model],
    ['Ordered', textTime(record.created_at)],
    ['Ended', textTime(record.completed_at)],
    ['Took', timing(record)],
    ['Error', record.error && `${record.error.code}: ${record.error.message}`],
    ['Tokens', tokens(record)],
    ['Reported', record.reported_usage && JSON.stringify(record.reported_usage)],
    ['Counted', record.counted_usage && JSON.stringify(record.counted_usage)],
    ['Not sent', record.ignored_parameters.join(', ')],
    ['Prices', `${record.price_version}: ${pairs(record.unit_prices ?? {})}`],
    ['Charged', `${record.charged_amount} USD: ${pairs(record.cost_details)}`],
    ['Held', `${record.held} USD, not charged ${record.not_charged}`],
    ['Provider', record.provider && `${record.provider}, bills ${record.provider_cost ?? 'unknown'}`],
    ...block('Attempts', attemptsTable(record)),
    ...block('Booked', textTable(TRANSACTIONS, record.transactions)),
    ...record.write_offs.map(({ reason, amount }) => ['Written off', `${amount} USD, ${reason}`] as const),
  ];
}

function attemptsTable({ attempts }: ChargeRecordJson): string {
  return textTable(
    [
      { title: 'provider', value: (row) => row.provider },
      { title: 'model', value: (row) => row.model },
      { title: 'outcome', value: (row) => row.outcome },
      { title: 'ms', value: (row) => row.latency_ms, align: 'right' },
      { title: 'cost', value: (row) => row.cost, align: 'right' },
      { title: 'said', value: (row) => row.said },
    ],
    attempts,
  );
}

/** Formats a table as record lines under one name. */
function block(name: string, table: string): Entries {
  return table.split('\n').map((line, index) => [index === 0 ? name : '', line] as const);
}

function timing({ latency_ms, first_token_ms }: ChargeRecordJson): string {
  return first_token_ms === null
    ? `${latency_ms} ms`
    : `${latency_ms} ms, first token after ${first_token_ms} ms`;
}

function tokens({ usage, usage_source }: ChargeRecordJson): string {
  const { input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens } = usage;
  return (
    `${input_tokens} in (${cache_read_tokens} read from and ${cache_write_tokens} written to a cache), ` +
    `${output_tokens} out (${reasoning_tokens} of which reasoning), by ${usage_source}`
  );
}

function pairs(values: Readonly<Record<string, string>>): string {
  const texts = Object.entries(values).map(([name, value]) => `${name} ${value}`);
  return texts.length === 0 ? 'nothing' : texts.join(', ');
}
