import { CURRENCY } from '../http/input/wire-shapes.ts';
import { csvLine, inert } from '../lib/csv.ts';
import { presentTransaction } from './transactions.presenter.ts';
import type { EntryRow } from './transactions.read-model.ts';

const COLUMNS = [
  'date',
  'transaction_id',
  'type',
  'description',
  'amount',
  'balance_after',
  'currency',
  'generation_id',
  'checkout_session_id',
];

/** Yields a statement as CSV (RFC 4180): one line per movement, oldest first, with the running balance. */
export async function* statementCsv(
  lines: AsyncIterable<EntryRow>,
  accountId: string,
): AsyncGenerator<string> {
  yield csvLine(COLUMNS);
  for await (const row of lines) {
    const entry = presentTransaction(row, accountId);
    yield csvLine([
      entry.created_at,
      entry.id,
      entry.type,
      inert(entry.description),
      entry.amount.value,
      entry.balance_after.value,
      CURRENCY,
      entry.related_generation_id ?? '',
      entry.related_checkout_session_id ?? '',
    ]);
  }
}
