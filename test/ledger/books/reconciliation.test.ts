import fc from 'fast-check';
import { publicId } from '../../../src/lib/ids.ts';
import type { LedgerEntryJson } from '../../../src/operators/ledger-entries.schema.ts';
import type { ActivityRowJson, UsageRowJson } from '../../../src/usage/usage.schema.ts';
import { pdfText } from '../../api/support/pdf-text.ts';
import { ADMIN_TOKEN, startTestServer, type TestServer } from '../../api/support/test-server.ts';
import { usd } from '../../factories/ledger.ts';
import { findJournalChecks, type JournalChecks } from '../../setup/bookkeeping-programs.ts';
import { PACKAGES_TIMEOUT_MS } from '../../setup/debian-packages.ts';
import { business } from './arbitrary-business.ts';
import { type Customer, RunningBusiness } from './business.ts';
import { checkJournals, type MonthEnd } from './journals.ts';

interface Transaction {
  readonly id: string;
  readonly type: string;
  readonly reason_code: string;
  readonly amount: { readonly value: string };
  readonly balance_after: { readonly value: string };
  readonly created_at: string;
  readonly invoice_id: string;
}

interface Invoice {
  readonly id: string;
  readonly status: string;
  readonly period_start: string;
  readonly period_end: string;
  readonly opening_balance: string;
  readonly credit_purchase_total: string;
  readonly usage_charge_total: string;
  readonly refund_total: string;
  readonly adjustment_total: string;
  readonly closing_balance: string;
}

let server: TestServer;
let journalChecks: JournalChecks;

beforeAll(async () => {
  journalChecks = await findJournalChecks();
  server = await startTestServer();
}, PACKAGES_TIMEOUT_MS);
afterAll(() => server?.close());

async function all<Row>(path: string, key: string): Promise<Row[]> {
  const rows: Row[] = [];
  for (let next: string | undefined = path; next !== undefined; ) {
    const answer: Awaited<ReturnType<typeof server.call>> = await server.call('GET', next, { key });
    expect([next, answer.status]).toEqual([next, 200]);
    rows.push(...answer.json.data);
    next = /^<(.+)>; rel="next"$/.exec(answer.headers.get('link') ?? '')?.[1];
  }
  return rows;
}

const sum = (amounts: readonly string[]): bigint => amounts.reduce((total, text) => total + usd(text), 0n);
const amountsOf = (rows: readonly Transaction[], type?: string): bigint =>
  sum(rows.filter((row) => type === undefined || row.type === type).map(({ amount }) => amount.value));

/** Checks the balance against every source that states one, row by row and page by page. Returns the transactions, oldest first. */
async function reconcileBalance({ id, key }: Customer): Promise<Transaction[]> {
  const path = '/api/v1/billing/balance-transactions';
  const newestFirst = await all<Transaction>(`${path}?limit=1000`, key.secret);
  expect((await all<Transaction>(`${path}?limit=7`, key.secret)).map((row) => row.id)).toEqual(
    newestFirst.map((row) => row.id),
  );
  const types = ['credit_purchase', 'usage_charge', 'refund', 'adjustment'];
  const byType = await Promise.all(types.map((type) => all<Transaction>(`${path}?type=${type}`, key.secret)));
  expect(
    byType
      .flat()
      .map((row) => row.id)
      .sort(),
  ).toEqual(newestFirst.map((row) => row.id).sort());
  const rows = newestFirst.reverse();
  let balance = 0n;
  for (const [index, row] of rows.entries()) {
    balance += usd(row.amount.value);
    expect(usd(row.balance_after.value)).toBe(balance);
    expect(row.created_at >= (rows[index - 1]?.created_at ?? '')).toBe(true);
  }
  const credits = await server.call('GET', '/api/v1/credits', { key: key.secret });
  const account = await server.call('GET', `/admin/v1/accounts/${publicId('account', id)}`, {
    key: ADMIN_TOKEN,
  });
  expect(usd(account.json.data.remaining_credits)).toBe(balance);
  expect(usd(credits.json.data.total_credits) - usd(credits.json.data.total_usage)).toBe(balance);
  const keys = await all<{ usage: number }>('/api/v1/keys', key.secret);
  const used = keys.reduce((total, { usage }) => total + BigInt(Math.round(usage * 1e9)), 0n);
  expect(used).toBe(usd(credits.json.data.total_usage));
  const refunded = amountsOf(rows.filter((row) => row.reason_code === 'usage_refund'));
  expect(used).toBe(-amountsOf(rows, 'usage_charge') - refunded);
  return rows;
}

/** Longest range of a report by day. */
const RANGE_DAYS_MAX = 366;
const HOURS_DAYS_MAX = 31;
const DAY_MS = 86_400_000;
const dayOf = (time: number) => new Date(Math.floor(time / DAY_MS) * DAY_MS).toISOString();

/** Rows of a report between two days, fetched in ranges it accepts. */
async function report<Row>({ key }: Customer, name: string, from: string, to: string): Promise<Row[]> {
  const longest = dayOf(Date.parse(from) + RANGE_DAYS_MAX * DAY_MS);
  const end = to < longest ? to : longest;
  const separator = name.includes('?') ? '&' : '?';
  const path = `/api/v1/${name}${separator}start_time=${from}&end_time=${end}`;
  const rows = await all<Row>(path, key.secret);
  return end < to ? [...rows, ...(await report<Row>({ key } as Customer, name, end, to))] : rows;
}

/** Checks charges by every grouping, by hour, and by two halves of the range; calls and tokens by both reports that count them. */
async function reconcileUsage(customer: Customer, rows: readonly Transaction[]): Promise<void> {
  const [first] = rows;
  if (!first) {
    return;
  }
  const start = dayOf(Date.parse(first.created_at));
  const end = dayOf(Date.parse(rows.at(-1)?.created_at ?? '') + 2 * DAY_MS);
  const middle = dayOf((Date.parse(start) + Date.parse(end)) / 2);
  const costs = async (from: string, to: string, query = 'granularity=day'): Promise<bigint> => {
    const found = await report<{ amount: { value: string } }>(customer, `costs?${query}`, from, to);
    return sum(found.map(({ amount }) => amount.value));
  };
  const charged = -amountsOf(rows, 'usage_charge');
  for (const group of ['model', 'api_key', 'endpoint,model,api_key']) {
    expect([group, await costs(start, end, `group_by=${group}`)]).toEqual([group, charged]);
  }
  const halves = [await costs(start, middle), await costs(middle, end)];
  expect(halves.reduce((all, half) => all + half, 0n)).toBe(charged);
  expect(await costs(start, end)).toBe(charged);
  const soon = dayOf(Math.min(Date.parse(start) + HOURS_DAYS_MAX * DAY_MS, Date.parse(end)));
  expect(await costs(start, soon, 'granularity=hour')).toBe(await costs(start, soon));
  const activity = await report<ActivityRowJson>(customer, 'activity', start, end);
  const usage = await report<UsageRowJson>(customer, 'usage?granularity=day', start, end);
  expect(sum(activity.map((row) => row.charged_amount))).toBe(charged);
  for (const tokens of ['input_tokens', 'output_tokens'] as const) {
    expect(total(activity.map((row) => row.usage[tokens]))).toBe(total(usage.map((row) => row[tokens])));
  }
  const calls = total(usage.map((row) => row.request_count));
  expect(total(activity.map((row) => row.request_count))).toBe(calls);
  expect(calls).toBeGreaterThanOrEqual(rows.filter(({ type }) => type === 'usage_charge').length);
}

const total = (counts: readonly number[]): number => counts.reduce((all, count) => all + count, 0);

/** Checks statements: sums, chain, transactions, CSV, and every transaction in exactly one. Returns the last closing balance. */
async function reconcileStatements({ key }: Customer, rows: readonly Transaction[]): Promise<bigint> {
  const path = '/api/v1/billing/invoices';
  const invoices = (await all<Invoice>(path, key.secret)).reverse();
  let opening = 0n;
  const stated: string[] = [];
  for (const invoice of invoices) {
    const own = rows.filter((row) => row.invoice_id === invoice.id);
    expect(usd(invoice.opening_balance)).toBe(opening);
    opening += amountsOf(own);
    expect([invoice.period_start, usd(invoice.closing_balance)]).toEqual([invoice.period_start, opening]);
    expect(usd(invoice.credit_purchase_total)).toBe(amountsOf(own, 'credit_purchase'));
    expect(usd(invoice.usage_charge_total)).toBe(-amountsOf(own, 'usage_charge'));
    expect(usd(invoice.refund_total)).toBe(amountsOf(own, 'refund'));
    expect(usd(invoice.adjustment_total)).toBe(amountsOf(own, 'adjustment'));
    expect(own.every(({ created_at: at }) => at >= invoice.period_start && at < invoice.period_end)).toBe(
      true,
    );
    const csv = await server.call('GET', `${path}/${invoice.id}.csv`, { key: key.secret });
    const lines = csv.text.trimEnd().split('\r\n').slice(1);
    expect(lines.map((line) => line.split(',')[1])).toEqual(own.map(({ id }) => id));
    const paper = await fetch(`${server.url}${path}/${invoice.id}.pdf`, {
      headers: { authorization: `Bearer ${key.secret}` },
    });
    const text = pdfText(Buffer.from(await paper.arrayBuffer()));
    const printed = (label: string) => new RegExp(`^${label}\\n(-?[\\d.]+)$`, 'm').exec(text)?.[1] ?? '';
    expect(usd(printed('Opening balance'))).toBe(usd(invoice.opening_balance));
    expect(usd(printed('Closing balance'))).toBe(usd(invoice.closing_balance));
    stated.push(...own.map(({ id }) => id));
    expect(['paid', 'draft']).toContain(invoice.status);
  }
  expect(stated).toEqual(rows.map(({ id }) => id));
  return opening;
}

/** Checks the operator's side: what really moved was audited and booked, and reports and the proof agree. */
async function reconcileBooks(run: RunningBusiness): Promise<void> {
  const ids = run.customers.map(({ id }) => publicId('account', id));
  const entries = (await all<LedgerEntryJson>('/admin/v1/ledger/entries?limit=500', ADMIN_TOKEN)).filter(
    (entry) => ids.includes(entry.account_id),
  );
  const against = (contra: string) =>
    sum(entries.filter((entry) => entry.contra === contra).map(({ amount }) => amount.value));
  expect(against('cash_clearing')).toBe(run.sumOf('cash'));
  expect(against('operator')).toBe(run.sumOf('adjusted'));
  const audit = await all<{ object: string; detail: { amount: string } }>(
    '/admin/v1/audit?action=account.adjust&limit=500',
    ADMIN_TOKEN,
  );
  const audited = audit.filter(({ object }) => ids.includes(object));
  expect(audited.reduce((total, { detail }) => total + BigInt(detail.amount), 0n)).toBe(
    run.sumOf('adjusted'),
  );
  const accounts = await all<{ id: string; remaining_credits: string; debt: string }>(
    '/admin/v1/accounts',
    ADMIN_TOKEN,
  );
  const at = new Date().toISOString();
  const deferred = await server.call('GET', `/admin/v1/reports/deferred-revenue?at=${at}`, {
    key: ADMIN_TOKEN,
  });
  expect(usd(deferred.json.data.credits)).toBe(sum(accounts.map((row) => row.remaining_credits)));
  expect(usd(deferred.json.data.receivable)).toBe(sum(accounts.map(({ debt }) => debt)));
  expect(against('receivable')).toBe(
    sum(accounts.filter(({ id }) => ids.includes(id)).map(({ debt }) => debt)),
  );
  const debts = await all<{ owed: string }>(`/admin/v1/reports/aged-debts?at=${at}`, ADMIN_TOKEN);
  expect(sum(debts.map(({ owed }) => owed))).toBe(usd(deferred.json.data.receivable));
  const proof = await server.call('GET', '/admin/v1/ledger/verify', { key: ADMIN_TOKEN });
  expect(proof.json.data.violations).toEqual([]);
}

/** Checks that two bookkeeping programs find in the exports, for the end of each month, what statements, reports and the business say. */
async function reconcileJournals(run: RunningBusiness): Promise<void> {
  const ids = run.customers.map(({ id }) => publicId('account', id));
  const statements = (
    await Promise.all(run.customers.map(({ key }) => all<Invoice>('/api/v1/billing/invoices', key.secret)))
  )
    .flat()
    .filter(({ status }) => status === 'paid');
  const starts = [...new Set(statements.map((statement) => statement.period_start))].sort();
  const months: MonthEnd[] = [];
  let used = 0n;
  for (const start of starts) {
    const own = statements.filter((statement) => statement.period_start === start);
    const end = own[0]?.period_end ?? '';
    const [from, to] = [start, end].map(encodeURIComponent);
    const entries = await all<LedgerEntryJson>(
      `/admin/v1/ledger/entries?limit=500&start_time=${from}&end_time=${to}`,
      ADMIN_TOKEN,
    );
    const debts = await all<{ account_id: string; owed: string }>(
      `/admin/v1/reports/aged-debts?at=${to}`,
      ADMIN_TOKEN,
    );
    used += sum(own.map((statement) => statement.usage_charge_total));
    const before = new Date(end);
    const sums = {
      'Liabilities:Customers': -sum(own.map((statement) => statement.closing_balance)),
      'Assets:Receivable': sum(debts.filter((row) => ids.includes(row.account_id)).map(({ owed }) => owed)),
      'Expenses:Operator': run.sumOf('adjusted', before),
      'Assets:Cash-clearing': run.sumOf('cash', before),
      'Income:Usage': run.sumOf('refunded', before) - used,
      'Expenses:Write-off': run.sumOf('forgiven', before),
    };
    months.push({ end, entries: entries.filter((entry) => ids.includes(entry.account_id)), sums });
  }
  await checkJournals(months, journalChecks);
}

test('reports the same money from every source, whatever the business and its clock do', async () => {
  await fc.assert(
    fc.asyncProperty(business, async ({ start, deeds }) => {
      const run = new RunningBusiness(server.database, server.test.url, start);
      try {
        await run.open();
        for (const deed of deeds) {
          await run.run(deed);
        }
        await run.finish();
        for (const customer of run.customers) {
          const rows = await reconcileBalance(customer);
          await reconcileUsage(customer, rows);
          expect(await reconcileStatements(customer, rows)).toBe(amountsOf(rows));
        }
        await reconcileBooks(run);
        await reconcileJournals(run);
      } finally {
        await run.close();
      }
    }),
    { numRuns: 3, interruptAfterTimeLimit: 60_000 },
  );
});
