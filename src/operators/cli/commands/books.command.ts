import type { Command } from 'commander';
import type {
  AgedDebtJson,
  CreditsByKindJson,
  DeferredRevenueJson,
  MarginJson,
  PayoutJson,
  PricePeriodJson,
  WriteOffJson,
} from '../../books/book-reports.schema.ts';
import type { LedgerEntryJson } from '../../ledger-entries.schema.ts';
import { CliContext, type CliSurroundings } from '../cli-context.ts';
import { CliError, EXIT } from '../cli-error.ts';
import { type Column, textTime } from '../text-table.ts';
import { EXPORT_FORMATS, type ExportFormat, exportBooks } from './books-export.ts';

interface PeriodOptions {
  readonly from: string;
  readonly to: string;
}

interface ExportOptions extends Partial<PeriodOptions> {
  readonly format: string;
}

/** `tollgate books …` and `tollgate prices` */
export function addBookCommands(program: Command, surroundings: CliSurroundings): void {
  const books = program.command('books').description('reports and exports of the ledger for bookkeepers');
  addExport(books, surroundings);
  addInstantReports(books, surroundings);
  for (const report of PERIOD_REPORTS) {
    books
      .command(report.name)
      .description(report.description)
      .requiredOption('--from <time>', 'inclusive, e.g. 2028-05-01T00:00:00Z')
      .requiredOption('--to <time>', 'exclusive, at most 366 days later')
      .action(async ({ from, to }: PeriodOptions, command: Command) => {
        const context = await CliContext.of(command, surroundings);
        const query = { start_time: from, end_time: to, ...report.query };
        const columns = report.columns as readonly Column<unknown>[];
        if (report.isWhole) {
          context.showRows(await context.client.get<unknown[]>(report.path, query), columns);
        } else {
          await context.showList(report.path, query, 'all', columns);
        }
      });
  }
  program
    .command('prices')
    .description('list the prices, when each was in effect and which catalog set it, newest first')
    .option('-m, --model <model>', 'only this model')
    .option('--at <time>', 'only prices in effect at this time')
    .option('-n, --limit <rows>', 'number of rows, or "all"')
    .action(async (options: { model?: string; at?: string; limit?: string }, command: Command) => {
      const context = await CliContext.of(command, surroundings);
      const query = { model: options.model, at: options.at };
      await context.showList('/admin/v1/prices', query, options.limit, PRICE_COLUMNS);
    });
}

function addExport(books: Command, surroundings: CliSurroundings): void {
  books
    .command('export')
    .description('export every entry of all accounts in a period, for a spreadsheet, hledger or beancount')
    .option('--from <time>', 'inclusive, e.g. 2028-05-01T00:00:00Z')
    .option('--to <time>', 'exclusive')
    .option('-f, --format <format>', EXPORT_FORMATS.join(', '), 'csv')
    .action(async ({ from, to, format }: ExportOptions, command: Command) => {
      if (!isFormat(format)) {
        throw new CliError(
          `--format must be one of ${EXPORT_FORMATS.join(', ')}, not "${format}"`,
          EXIT.usage,
        );
      }
      const context = await CliContext.of(command, surroundings);
      const query = { start_time: from, end_time: to };
      const pages = context.client.pages<LedgerEntryJson>('/admin/v1/ledger/entries', query);
      await context.showText(exportBooks(pages, context.wantsJson ? 'json' : format));
    });
}

function addInstantReports(books: Command, surroundings: CliSurroundings): void {
  books
    .command('deferred')
    .description('what is owed to customers at an instant, and what they owe')
    .requiredOption('--at <time>', 'only entries booked before this time count')
    .action(async ({ at }: { at: string }, command: Command) => {
      const context = await CliContext.of(command, surroundings);
      const path = '/admin/v1/reports/deferred-revenue';
      const report = await context.client.get<DeferredRevenueJson>(path, { at });
      context.showRecord(report, [
        ['At', textTime(report.at)],
        ['Customer credits', `${report.credits} USD`],
        ['Receivable', `${report.receivable} USD`],
        ['Accounts with a balance', report.accounts],
      ]);
    });
  books
    .command('debts')
    .description('debts of each account at an instant, by age')
    .requiredOption('--at <time>', 'only entries booked before this time count')
    .action(async ({ at }: { at: string }, command: Command) => {
      const context = await CliContext.of(command, surroundings);
      await context.showList('/admin/v1/reports/aged-debts', { at }, 'all', DEBT_COLUMNS);
    });
}

const amount = <Row>(title: string, value: (row: Row) => string | number): Column<Row> => ({
  title,
  value,
  align: 'right',
});

const DEBT_COLUMNS: readonly Column<AgedDebtJson>[] = [
  { title: 'account', value: (row) => row.account_id },
  { title: 'name', value: (row) => row.name },
  amount('owed', (row) => row.owed),
  amount('< 30 days', (row) => row.under_30_days),
  amount('< 60', (row) => row.under_60_days),
  amount('< 90', (row) => row.under_90_days),
  amount('older', (row) => row.older),
  { title: 'since', value: (row) => textTime(row.oldest_at) },
];

const PRICE_COLUMNS: readonly Column<PricePeriodJson>[] = [
  { title: 'model', value: (row) => row.model },
  { title: 'from', value: (row) => textTime(row.starts_at) },
  { title: 'to', value: (row) => textTime(row.ends_at) },
  { title: 'version', value: (row) => row.price_version },
  { title: 'prices', value: (row) => pricesOf(row) },
  { title: 'changed by', value: (row) => row.changed_by },
];

function pricesOf({ prices }: PricePeriodJson): string {
  const charged = Object.entries(prices ?? {}).filter(([, price]) => price !== '0');
  return prices === null
    ? 'not sold'
    : charged.map(([name, price]) => `${name} ${price}`).join(', ') || 'free';
}

interface PeriodReport<Row> {
  readonly name: string;
  readonly description: string;
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  /** The whole report is returned in one response. */
  readonly isWhole?: boolean;
  readonly columns: readonly Column<Row>[];
}

const report = <Row>(of: PeriodReport<Row>): PeriodReport<Row> => of;

const PERIOD_REPORTS = [
  report<LedgerEntryJson>({
    name: 'manual',
    description: 'entries that operators booked manually',
    path: '/admin/v1/ledger/entries',
    query: { booked_by: 'operators' },
    columns: [
      { title: 'time', value: (row) => textTime(row.created_at) },
      { title: 'account', value: (row) => row.account_id },
      { title: 'transaction', value: (row) => row.id },
      { title: 'reason', value: (row) => row.reason_code },
      amount('amount', (row) => row.amount.value),
      { title: 'by', value: (row) => row.actor },
      { title: 'description', value: (row) => row.description },
    ],
  }),
  report<MarginJson>({
    name: 'margin',
    description: 'charges, refunds and provider cost, by month and model',
    path: '/admin/v1/reports/margin',
    isWhole: true,
    columns: [
      { title: 'month', value: (row) => row.month },
      { title: 'model', value: (row) => row.model ?? '' },
      amount('calls', (row) => row.calls),
      amount('failed', (row) => row.failed_calls),
      amount('without cost', (row) => row.calls_without_cost),
      amount('charged', (row) => row.charged),
      amount('refunded', (row) => row.refunded),
      amount('provider cost', (row) => row.provider_cost),
      amount('margin', (row) => row.margin),
    ],
  }),
  report<WriteOffJson>({
    name: 'write-offs',
    description: 'what was delivered but not charged, or owed but forgiven',
    path: '/admin/v1/reports/write-offs',
    isWhole: true,
    columns: [
      { title: 'month', value: (row) => row.month },
      { title: 'reason', value: (row) => row.reason },
      amount('count', (row) => row.count),
      amount('amount', (row) => row.amount),
    ],
  }),
  report<PayoutJson>({
    name: 'payouts',
    description: 'money that moved outside the ledger, by payment',
    path: '/admin/v1/reports/payouts',
    columns: [
      { title: 'provider', value: (row) => row.provider },
      { title: 'payment', value: (row) => row.payment_id },
      { title: 'session', value: (row) => row.checkout_session_id },
      { title: 'account', value: (row) => row.account_id },
      amount('received', (row) => row.received),
      amount('taken back', (row) => row.taken_back),
      amount('given back', (row) => row.given_back),
      amount('net', (row) => row.net),
      amount('fees', (row) => row.moves.map(({ fee, currency }) => `${fee} ${currency}`).join(' + ')),
      {
        title: 'payouts',
        value: ({ moves }) => [...new Set(moves.flatMap((move) => move.payout_id ?? []))].join(' '),
      },
    ],
  }),
  report<CreditsByKindJson>({
    name: 'credits',
    description: 'paid and granted credits; granted credits are used first, oldest first',
    path: '/admin/v1/reports/credits',
    columns: [
      { title: 'account', value: (row) => row.account_id },
      ...(['paid', 'granted'] as const).flatMap((kind) =>
        (['opening', 'added', 'used', 'closing'] as const).map((name) =>
          amount<CreditsByKindJson>(`${kind} ${name}`, (row) => row[kind][name]),
        ),
      ),
    ],
  }),
] as const;

function isFormat(text: string): text is ExportFormat {
  return EXPORT_FORMATS.some((format) => format === text);
}
