import pg from 'pg';
import { newSecret, secretHash } from '../../src/keys/secret.ts';
import { newUuid } from '../../src/lib/ids.ts';

export interface History {
  readonly secret: string;
  readonly keyHash: string;
}

const MONTHS = 12;
const OPENING_NANO = 1_000_000_000_000_000n;
/** Longer than the history, in days. */
const DAYS_MAX = 400;

/**
 * Writes a year of one account: `generations` calls evenly over time, on three keys, four models and two endpoints, with the ledger
 * entries, roll-ups and days that settlements and maintenance would have written. Writes in bulk with the owner role.
 */
export async function writeHistory(ownerUrl: string, generations: number): Promise<History> {
  const client = new pg.Client({ connectionString: ownerUrl });
  await client.connect();
  try {
    const accountId = newUuid();
    const secret = newSecret(accountId);
    const keyHash = secretHash(secret) ?? '';
    await client.query(`SELECT create_month_partitions((date_trunc('month', now()) - make_interval(months => n))::date)
      FROM generate_series(0, ${MONTHS}) n`);
    await client.query(`SELECT open_account($1, 'bench')`, [accountId]);
    await client.query(`UPDATE accounts SET created_at = now() - interval '${MONTHS} months' WHERE id = $1`, [
      accountId,
    ]);
    for (const hash of [keyHash, secretHash(newSecret(accountId)), secretHash(newSecret(accountId))]) {
      await client.query(
        `INSERT INTO api_keys (id, account_id, hash, name, label, role) VALUES ($1, $2, $3, 'bench', 'bench', 'owner')`,
        [newUuid(), accountId, hash],
      );
    }
    await inventCalls(client, accountId, generations);
    const indexes = await dropIndexes(client);
    const rows = historyRows(accountId);
    await Promise.all([rows.entries, rows.generations, rows.rollups].map((text) => alone(ownerUrl, [text])));
    await client.query(rows.balance);
    await client.query('DROP TABLE bench_calls');
    await Promise.all(indexes.map((ofTable) => alone(ownerUrl, ofTable)));
    await client.query('SELECT finish_usage_days($1)', [accountId]);
    await client.query('SELECT fill_usage_days($1, $2)', [accountId, DAYS_MAX]);
    await client.query('SELECT close_months($1)', [accountId]);
    await client.query('VACUUM ANALYZE');
    return { secret, keyHash };
  } finally {
    await client.end();
  }
}

async function inventCalls(client: pg.Client, accountId: string, generations: number): Promise<void> {
  await client.query(`CREATE UNLOGGED TABLE bench_calls AS
    WITH keys AS MATERIALIZED (SELECT array_agg(id ORDER BY id) AS ids FROM api_keys WHERE account_id = '${accountId}')
    SELECT n, at, (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || substr(md5(n::text), 1, 20))::uuid AS id,
           keys.ids[1 + n % 3] AS api_key_id,
           '/api/v1/' || (ARRAY['chat/completions', 'tasks'])[1 + n / 3 % 2] AS endpoint,
           'acme/model-' || n / 6 % 4 AS model, 1000 + n % 977 AS input, 2000 + n % 331 AS output
      FROM keys, (SELECT n, begun + n::double precision / ${generations} * (now() - interval '1 minute' - begun) AS at
              FROM generate_series(1, ${generations}) n, (SELECT now() - interval '${MONTHS} months' + interval '1 minute' AS begun) b) s`);
  await client.query('ANALYZE bench_calls');
}

/** Drops the indexes of the big tables, except their keys. Returns the statements that recreate them, by table. */
async function dropIndexes(client: pg.Client): Promise<string[][]> {
  const { rows } = await client.query<{ name: string; owner: string; definition: string }>(`
    SELECT i.indexrelid::regclass::text AS name, i.indrelid::regclass::text AS owner, pg_get_indexdef(i.indexrelid) AS definition
      FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
     WHERE NOT i.indisprimary AND c.relkind = 'p' AND c.relname IN ('ledger_entries', 'generations')`);
  for (const { name } of rows) {
    await client.query(`DROP INDEX ${name}`);
  }
  return [...new Set(rows.map((row) => row.owner))].map((table) => [
    `SET maintenance_work_mem = '256MB'`,
    ...rows
      .filter((row) => row.owner === table)
      // ONLY would leave the partitions without indexes
      .map(({ definition }) => definition.replace(' ON ONLY ', ' ON ')),
  ]);
}

function historyRows(accountId: string) {
  return {
    entries: `INSERT INTO ledger_entries (account_id, seq, type, amount, balance_after, contra, reference, api_key_id, at)
      SELECT '${accountId}'::uuid, 1, 'adjustment'::ledger_entry_type, ${OPENING_NANO}, ${OPENING_NANO},
             'operator'::ledger_contra, gen_random_uuid(), NULL, now() - interval '${MONTHS} months'
      UNION ALL
      SELECT '${accountId}', n + 1, 'usage_charge', -(input + output),
             ${OPENING_NANO} - sum(input + output) OVER (ORDER BY n), 'revenue', id, api_key_id, at FROM bench_calls`,
    generations: `INSERT INTO generations (id, account_id, api_key_id, request_id, endpoint, model, status, input_tokens,
        output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens, usage_source, price_version, hold_amount,
        charge, lines, shortfall, attempts, streamed, latency_ms, created_at, completed_at)
      SELECT id, '${accountId}', api_key_id, 'req_' || n, endpoint, model, 'completed', 100, 50, 0, 0, 0, 'provider', 'bench',
             input + output, input + output, jsonb_build_object('input', input, 'output', output), 0, '[]', false, 100, at, at
        FROM bench_calls`,
    rollups: `INSERT INTO usage_rollups (account_id, bucket, api_key_id, endpoint, model, requests, input_tokens,
        output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens, charge, charge_input, charge_output,
        charge_cache_read, charge_cache_write, charge_reasoning, charge_request, charge_image, charge_video)
      SELECT '${accountId}', date_bin('5 minutes', at, 'epoch'::timestamptz), api_key_id, endpoint, model, count(*),
             100 * count(*), 50 * count(*), 0, 0, 0, sum(input + output), sum(input), sum(output), 0, 0, 0, 0, 0, 0
        FROM bench_calls GROUP BY 2, 3, 4, 5 ORDER BY 2`,
    balance: `UPDATE balances b SET posted = ${OPENING_NANO} - s.used, used = s.used, seq = s.seq
      FROM (SELECT sum(input + output)::bigint AS used, count(*) + 1 AS seq FROM bench_calls) s
     WHERE b.account_id = '${accountId}'`,
  };
}

async function alone(ownerUrl: string, statements: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString: ownerUrl });
  await client.connect();
  try {
    await client.query(`SET work_mem = '256MB'`);
    for (const text of statements) {
      await client.query(text);
    }
  } finally {
    await client.end();
  }
}
