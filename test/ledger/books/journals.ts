import { execFile } from 'node:child_process';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { exportBooks } from '../../../src/operators/cli/commands/books-export.ts';
import type { LedgerEntryJson } from '../../../src/operators/ledger-entries.schema.ts';
import { ownTemporaryFolder } from '../../factories/temporary-folder.ts';
import type { JournalChecks } from '../../setup/bookkeeping-programs.ts';

/** Accounts of the books that must agree. The first three have a subaccount per customer or reason. */
const PARENTS = ['Liabilities:Customers', 'Assets:Receivable', 'Expenses:Operator'] as const;
const LEAVES = ['Assets:Cash-clearing', 'Income:Usage', 'Expenses:Write-off'] as const;
export type BookAccount = (typeof PARENTS)[number] | (typeof LEAVES)[number];

export interface MonthEnd {
  /** First instant after the month, RFC 3339. */
  readonly end: string;
  /** Entries of the month. */
  readonly entries: readonly LedgerEntryJson[];
  /** Balance of each account at the end of the month, in nano-USD; debits are positive. */
  readonly sums: Readonly<Record<BookAccount, bigint>>;
}

const run = promisify(execFile);
const TIMEOUT_MS = 30_000;

/**
 * Exports each month, appends assertions of the balances at its end, and checks it all with hledger and beancount. Rejects with their
 * output.
 */
export async function checkJournals(months: readonly MonthEnd[], programs: JournalChecks): Promise<void> {
  const folder = ownTemporaryFolder('journals');
  try {
    const journals = { hledger: await hledgerJournal(months), beancount: await beancountJournal(months) };
    for (const format of ['hledger', 'beancount'] as const) {
      const { command, checks, environment } = programs[format];
      const path = join(folder, `books.${format}`);
      await writeFile(path, journals[format]);
      await run(command, [...checks, path], { env: environment, timeout: TIMEOUT_MS });
    }
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function hledgerJournal(months: readonly MonthEnd[]): Promise<string> {
  const parts: string[] = [];
  for (const { end, entries, sums } of months) {
    parts.push(await exported(entries, 'hledger'));
    const lastDay = new Date(Date.parse(end) - 1).toISOString().slice(0, 10);
    const asserted = Object.entries(sums).map(
      ([account, sum]) => `    ${account}  0 =* ${usdText(sum)} USD\n`,
    );
    parts.push(`${lastDay} * end of the month\n${asserted.join('')}\n`);
  }
  return parts.join('');
}

/** One export of all months, because an account is opened only once. Without `~ 0`, a difference of one nano-USD would be tolerated. */
async function beancountJournal(months: readonly MonthEnd[]): Promise<string> {
  const text = await exported(
    months.flatMap(({ entries }) => entries),
    'beancount',
  );
  const opened = [...PARENTS, ...LEAVES.filter((account) => !text.includes(` open ${account} `))];
  const asserted = months.flatMap(({ end, sums }) =>
    Object.entries(sums).map(
      ([account, sum]) => `${end.slice(0, 10)} balance ${account}  ${usdText(sum)} ~ 0 USD\n`,
    ),
  );
  return [text, ...opened.map((account) => `1970-01-01 open ${account}\n`), ...asserted].join('');
}

async function exported(
  entries: readonly LedgerEntryJson[],
  format: 'hledger' | 'beancount',
): Promise<string> {
  async function* pages() {
    yield entries;
  }
  const chunks: string[] = [];
  for await (const chunk of exportBooks(pages(), format)) {
    chunks.push(chunk);
  }
  return chunks.join('');
}

/** Prints all nine decimals. */
function usdText(nano: bigint): string {
  const digits = (nano < 0n ? -nano : nano).toString().padStart(10, '0');
  return `${nano < 0n ? '-' : ''}${digits.slice(0, -9)}.${digits.slice(-9)}`;
}
