import type pg from 'pg';
import type { TestAccount } from '../../test/factories/ledger.ts';

const CHUNK_ROWS = 100_000;

/** Gives an account `rows` charges of 1 nano-USD over the last 30 days, with matching generations and roll-ups. */
export async function writeHistory(owner: pg.Client, account: TestAccount, rows: number): Promise<void> {
  await owner.query('BEGIN');
  for (let from = 0; from < rows; from += CHUNK_ROWS) {
    const values = [account.accountId, account.apiKeyId, from + 1, Math.min(rows, from + CHUNK_ROWS), rows];
    await owner.query(HISTORY, values);
  }
  await owner.query(
    `INSERT INTO usage_rollups
       SELECT account_id, date_bin('5 minutes', at, 'epoch'::timestamptz), api_key_id, '/api/v1/chat/completions', 'm',
              count(*), count(*) * 10, count(*) * 5, 0, 0, 0, count(*), 0, 0, 0, 0, 0, count(*), 0, 0
         FROM ledger_entries WHERE account_id = $1 AND type = 'usage_charge' GROUP BY 1, 2, 3`,
    [account.accountId],
  );
  // a running server may already have found these days empty and marked them as finished
  await owner.query('LOCK usage_day_marks IN SHARE ROW EXCLUSIVE MODE');
  for (const table of ['usage_day_marks', 'usage_days', 'usage_hours', 'usage_hour_totals']) {
    await owner.query(`DELETE FROM ${table} WHERE account_id = $1`, [account.accountId]);
  }
  await owner.query('COMMIT');
  await owner.query('VACUUM (ANALYZE) ledger_entries, generations, usage_rollups');
}

/** $1 account, $2 key, $3 first and $4 last number of this chunk, $5 total number. */
const HISTORY = `
  WITH numbered AS (
    SELECT n, clock_timestamp() - interval '30 days' + n * (interval '30 days' / $5::bigint) AS at,
           (lpad(to_hex((extract(epoch FROM now() - interval '30 days' + n * (interval '30 days' / $5::bigint)) * 1000)::bigint), 12, '0')
             || substr(md5(n::text || $1::uuid::text), 1, 20))::uuid AS id
      FROM generate_series($3::bigint, $4::bigint) n),
  opening AS (SELECT posted, seq FROM balances WHERE account_id = $1),
  made AS (
    INSERT INTO generations (id, account_id, api_key_id, request_id, endpoint, model, status, input_tokens, output_tokens,
        cache_read_tokens, cache_write_tokens, reasoning_tokens, usage_source, price_version, hold_amount, charge, lines,
        shortfall, attempts, streamed, latency_ms, created_at, completed_at)
      SELECT id, $1, $2, 'req', '/api/v1/chat/completions', 'm', 'completed', 10, 5, 0, 0, 0, 'provider', 'p', 1, 1,
             '{"request": "1"}', 0, '[]', false, 12, at, at FROM numbered),
  booked AS (
    INSERT INTO ledger_entries (account_id, seq, type, amount, balance_after, contra, reference, api_key_id, at)
      SELECT $1, o.seq + n - $3 + 1, 'usage_charge', -1, o.posted - (n - $3 + 1), 'revenue', id, $2, at
        FROM numbered, opening o),
  counted AS (UPDATE api_keys SET spent = spent + ($4 - $3 + 1) WHERE id = $2)
  UPDATE balances SET posted = posted - ($4 - $3 + 1), used = used + ($4 - $3 + 1), seq = seq + ($4 - $3 + 1)
   WHERE account_id = $1`;
