import type pg from 'pg';
import { newUuid } from '../../src/lib/ids.ts';
import type { TestAccount } from '../../test/factories/ledger.ts';

/**
 * The baseline: a careful service without group commit. It writes the same rows under the same locks, but each request runs its own
 * transactions, statement by statement, as an ORM would.
 */
export async function reserveAndSettle(pool: pg.Pool, account: TestAccount, amount: bigint): Promise<void> {
  const id = newUuid();
  await inTransaction(pool, (client) => reserve(client, account, id, amount));
  await inTransaction(pool, (client) => settle(client, account, id, amount));
}

async function reserve(
  client: pg.PoolClient,
  account: TestAccount,
  id: string,
  amount: bigint,
): Promise<void> {
  const { rows } = await client.query('SELECT * FROM balances WHERE account_id = $1 FOR UPDATE', [
    account.accountId,
  ]);
  if (BigInt(rows[0].posted) - BigInt(rows[0].held) < amount) {
    throw new Error('insufficient credits');
  }
  await client.query('SELECT * FROM api_keys WHERE id = $1 FOR UPDATE', [account.apiKeyId]);
  await client.query(
    `INSERT INTO holds (id, account_id, api_key_id, request_id, endpoint, model, price_version, is_task, amount,
       created_at, expires_at)
     VALUES ($1, $2, $3, 'req', '/api/v1/chat/completions', 'm', 'p', false, $4, now(), now() + interval '60 s')`,
    [id, account.accountId, account.apiKeyId, amount.toString()],
  );
  await client.query('UPDATE balances SET held = held + $2 WHERE account_id = $1', [
    account.accountId,
    amount.toString(),
  ]);
  await client.query('UPDATE api_keys SET held = held + $2 WHERE id = $1', [
    account.apiKeyId,
    amount.toString(),
  ]);
}

async function settle(
  client: pg.PoolClient,
  account: TestAccount,
  id: string,
  amount: bigint,
): Promise<void> {
  const { accountId, apiKeyId } = account;
  const nano = amount.toString();
  await client.query('SELECT * FROM balances WHERE account_id = $1 FOR UPDATE', [accountId]);
  await client.query('SELECT * FROM api_keys WHERE id = $1 FOR UPDATE', [apiKeyId]);
  await client.query('DELETE FROM holds WHERE id = $1', [id]);
  const { rows } = await client.query(
    // under the lock: the transaction began before that of the entry it waited for
    `UPDATE balances SET posted = posted - $2, used = used + $2, held = held - $2, seq = seq + 1,
       last_at = greatest(last_at, clock_timestamp())
      WHERE account_id = $1 RETURNING posted, seq, last_at::text AS at`,
    [accountId, nano],
  );
  await client.query('UPDATE api_keys SET held = held - $2, spent = spent + $2 WHERE id = $1', [
    apiKeyId,
    nano,
  ]);
  await client.query(
    `INSERT INTO generations (id, account_id, api_key_id, request_id, endpoint, model, status, input_tokens, output_tokens,
       cache_read_tokens, cache_write_tokens, reasoning_tokens, usage_source, price_version, hold_amount, charge, lines,
       shortfall, attempts, streamed, latency_ms, created_at, completed_at)
     VALUES ($1, $2, $3, 'req', '/api/v1/chat/completions', 'm', 'completed', 10, 5, 0, 0, 0, 'provider', 'p', $4, $4,
       jsonb_build_object('request', $5::text), 0, '[]', false, 12, now(), now())`,
    [id, accountId, apiKeyId, nano, nano],
  );
  await client.query(
    `INSERT INTO ledger_entries (account_id, seq, type, amount, balance_after, contra, reference, api_key_id, at)
     VALUES ($1, $2, 'usage_charge', -$3::bigint, $4, 'revenue', $5, $6, $7::timestamptz)`,
    [accountId, rows[0].seq, nano, rows[0].posted, id, apiKeyId, rows[0].at],
  );
  await client.query(
    `INSERT INTO usage_rollups AS u VALUES ($1, date_bin('5 minutes', now(), 'epoch'::timestamptz), $2,
       '/api/v1/chat/completions', 'm', 1, 10, 5, 0, 0, 0, $3, 0, 0, 0, 0, 0, $3, 0, 0)
     ON CONFLICT (account_id, bucket, api_key_id, endpoint, model) DO UPDATE SET requests = u.requests + 1,
       charge = u.charge + excluded.charge, charge_request = u.charge_request + excluded.charge_request`,
    [accountId, apiKeyId, nano],
  );
}

async function inTransaction(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<void>): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    await work(client);
    await client.query('COMMIT');
    client.release();
  } catch (error) {
    client.release(true);
    throw error;
  }
}
