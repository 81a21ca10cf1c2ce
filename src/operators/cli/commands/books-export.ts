import type { LedgerEntryJson } from '../../ledger-entries.schema.ts';

export const EXPORT_FORMATS = ['csv', 'hledger', 'beancount'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

const COLUMNS = [
  ...['account_id', 'seq', 'created_at', 'id', 'type', 'reason_code', 'contra', 'description', 'actor'],
  ...['request_id', 'payment_id', 'related_generation_id', 'related_checkout_session_id', 'invoice_id'],
] as const satisfies readonly (keyof LedgerEntryJson)[];

/** The entries as a file that a spreadsheet, hledger or beancount reads; each entry balances. */
export function exportBooks(entries: readonly LedgerEntryJson[], format: ExportFormat): string {
  const sorted = [...entries].sort((one, other) => (one.created_at < other.created_at ? -1 : 1));
  switch (format) {
    case 'csv':
      return csv(sorted);
    case 'hledger':
      return sorted.map((entry) => journalEntry(entry, 'hledger')).join('\n');
    case 'beancount': {
      const accounts = [...new Set(sorted.flatMap((entry) => pairOf(entry)))].sort();
      const opened = accounts.map((account) => `1970-01-01 open ${account} USD`);
      const booked = sorted.map((entry) => journalEntry(entry, 'beancount'));
      return [...opened, '', ...booked].join('\n');
    }
  }
}

function csv(entries: readonly LedgerEntryJson[]): string {
  const lines = entries.map((entry) => [
    ...COLUMNS.map((name) => inert(String(entry[name] ?? ''))),
    entry.amount.value,
    entry.balance_after.value,
    entry.amount.currency,
  ]);
  return [[...COLUMNS, 'amount', 'balance_after', 'currency'], ...lines]
    .map((fields) => fields.map(quoted).join(','))
    .join('\r\n');
}

/** The customer's account and the one on the other side; an entry's amount is the liability's, negated. */
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

function quoted(field: string): string {
  return /[",\r\n]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field;
}

/** Free text that a spreadsheet would take for a formula gets an apostrophe. */
function inert(text: string): string {
  return /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
}
