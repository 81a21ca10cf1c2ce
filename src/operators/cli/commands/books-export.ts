import { csvLine, inert } from '../../../lib/csv.ts';
import type { LedgerEntryJson } from '../../ledger-entries.schema.ts';

export const EXPORT_FORMATS = ['csv', 'hledger', 'beancount'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

const COLUMNS = [
  ...['account_id', 'seq', 'created_at', 'id', 'type', 'reason_code', 'contra', 'description', 'actor'],
  ...['request_id', 'payment_id', 'related_generation_id', 'related_checkout_session_id', 'invoice_id'],
] as const satisfies readonly (keyof LedgerEntryJson)[];

/**
 * Writes entries in the format of a spreadsheet, hledger or beancount, in their order; each entry balances. Holds one page of
 * entries in memory, and the names of the accounts already declared to beancount.
 */
export async function* exportBooks(
  pages: AsyncIterable<readonly LedgerEntryJson[]>,
  format: ExportFormat | 'json',
): AsyncGenerator<string> {
  const opened = new Set<string>();
  let first = true;
  if (format === 'csv') {
    yield csvLine([...COLUMNS, 'amount', 'balance_after', 'currency']);
  }
  for await (const entries of pages) {
    for (const entry of entries) {
      if (format === 'beancount') {
        yield* newAccounts(entry, opened);
      }
      yield format === 'json' ? `${first ? '[' : ','}\n${JSON.stringify(entry)}` : entryText(entry, format);
      first = false;
    }
  }
  if (format === 'json') {
    yield first ? '[]\n' : '\n]\n';
  }
}

function entryText(entry: LedgerEntryJson, format: ExportFormat): string {
  if (format !== 'csv') {
    return `${journalEntry(entry, format)}\n`;
  }
  const columns = COLUMNS.map((name) => inert(String(entry[name] ?? '')));
  return csvLine([...columns, entry.amount.value, entry.balance_after.value, entry.amount.currency]);
}

function* newAccounts(entry: LedgerEntryJson, opened: Set<string>): Generator<string> {
  for (const account of pairOf(entry)) {
    if (!opened.has(account)) {
      opened.add(account);
      yield `1970-01-01 open ${account} USD\n`;
    }
  }
}

/** Returns the customer's account and the contra account. The amount of an entry is that of the liability, negated. */
function pairOf(entry: LedgerEntryJson): [string, string] {
  const customer = entry.account_id.replace('acc_', '');
  const others: Readonly<Record<LedgerEntryJson['contra'], string>> = {
    cash_clearing: 'Assets:Cash-clearing',
    receivable: `Assets:Receivable:${customer}`,
    revenue: 'Income:Usage',
    write_off: 'Expenses:Write-off',
    operator: `Expenses:Operator:${entry.reason_code[0]?.toUpperCase()}${entry.reason_code.slice(1)}`,
  };
  return [`Liabilities:Customers:${customer}`, others[entry.contra]];
}

function journalEntry(entry: LedgerEntryJson, format: 'hledger' | 'beancount'): string {
  const [customer, other] = pairOf(entry);
  const { value } = entry.amount;
  const negated = value.startsWith('-') ? value.slice(1) : `-${value}`;
  const text = entry.description.replace(/[\r\n"\\;|]+/g, ' ');
  const title = format === 'hledger' ? `* ${text}  ; ${entry.id}` : `* "${text}"\n  id: "${entry.id}"`;
  const lines = [`${entry.created_at.slice(0, 10)} ${title}`];
  lines.push(`    ${customer}  ${negated} USD`, `    ${other}  ${value} USD`, '');
  return lines.join('\n');
}
