import { sumUsd, usd } from '../lib/money.ts';
import { overUntil, type TimeRange } from '../lib/time.ts';
import { type Reading, useRead, useReadAll } from './queries.ts';
import type { CostRow, CostsTotal } from './types.gen.ts';

const TOTAL = '/api/v1/costs/total';
/** Interval at which the page reloads its costs. */
const LIVE_MS = 15_000;

/** Result of comparing a total on the page with the ledger. Undefined until it has been compared. */
export type LedgerCheck =
  | { readonly verdict: 'same' }
  /** Calls ended between the two readings; everything that ended before `untilMs` matches. */
  | { readonly verdict: 'same_until'; readonly untilMs: number }
  /** Nano-USD by which the ledger exceeds the rows; negative if it has less. */
  | { readonly verdict: 'different'; readonly more: bigint }
  /** One key has more charges than the ledger adds up. */
  | { readonly verdict: 'too_many' }
  | { readonly verdict: 'unanswered' };

/**
 * Compares a displayed total with what the ledger itself charged in the same period. While calls keep ending, the two readings
 * differ by what happened between them; then only the completed part of the period is compared, with freshly read rows.
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

/** Returns undefined while it is loading, and null if the ledger has no total. */
function amountOf({ data, isStale }: Reading<CostsTotal>): bigint | null | undefined {
  if (data === undefined || isStale) {
    return undefined;
  }
  return data.amount === null ? null : usd(data.amount.value);
}
