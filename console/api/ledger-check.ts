import { sumUsd, usd } from '../lib/money.ts';
import { overUntil, type TimeRange } from '../lib/time.ts';
import { type Reading, useRead, useReadAll } from './queries.ts';
import type { CostRow, CostsTotal } from './types.gen.ts';

const TOTAL = '/api/v1/costs/total';
/** How often the page reads its costs anew. */
const LIVE_MS = 15_000;

/** What the ledger says of a total that a page shows. Undefined: it has not been asked yet. */
export type LedgerCheck =
  | { readonly verdict: 'same' }
  /** Calls ended between the two readings; what had ended before that time is the same. */
  | { readonly verdict: 'same_until'; readonly untilMs: number }
  /** Nano-USD that the ledger has more than the rows, less where it is negative. */
  | { readonly verdict: 'different'; readonly more: bigint }
  /** More charges of one key than the ledger adds up. */
  | { readonly verdict: 'too_many' }
  | { readonly verdict: 'unanswered' };

/**
 * Holds a total that is shown against what the ledger itself charged in the same time. While calls end all the time the two readings
 * differ by what came between them, so then the part of the time that is over is compared, by rows that are read anew.
 */
export function useLedgerCheck(
  range: TimeRange,
  apiKey: string,
  shown: bigint | undefined,
): LedgerCheck | undefined {
  const { start: start_time, granularity } = range;
  const query = { start_time, end_time: range.end, api_key_hash: apiKey };
  const whole = useRead<CostsTotal>(TOTAL, query, { everyMs: LIVE_MS, enabled: shown !== undefined });
  const ledger = amountOf(whole);
  const isDifferent = shown !== undefined && ledger !== undefined && ledger !== null && ledger !== shown;
  const untilMs = overUntil(range, Date.now());
  const enabled = isDifferent && untilMs > Date.parse(start_time);
  const over = { ...query, end_time: new Date(untilMs).toISOString() };
  const wholeOver = useRead<CostsTotal>(TOTAL, over, { enabled });
  const ledgerOver = amountOf(wholeOver);
  const rowsOver = useReadAll<CostRow>('/api/v1/costs', { ...over, granularity }, { enabled });
  if (whole.error ?? wholeOver.error ?? rowsOver.error) {
    return { verdict: 'unanswered' };
  }
  if (shown === undefined || ledger === undefined) {
    return undefined;
  }
  if (ledger === null) {
    return { verdict: 'too_many' };
  }
  if (!isDifferent) {
    return { verdict: 'same' };
  }
  if (!enabled || ledgerOver === undefined || ledgerOver === null || !rowsOver.data || rowsOver.isStale) {
    return undefined;
  }
  const more = ledgerOver - sumUsd(rowsOver.data.map(({ amount }) => usd(amount.value)));
  return more === 0n ? { verdict: 'same_until', untilMs } : { verdict: 'different', more };
}

/** Undefined while it is read; null where the ledger does not tell. */
function amountOf({ data, isStale }: Reading<CostsTotal>): bigint | null | undefined {
  if (data === undefined || isStale) {
    return undefined;
  }
  return data.amount === null ? null : usd(data.amount.value);
}
