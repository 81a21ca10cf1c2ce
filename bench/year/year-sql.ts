import { CHARGE_SUMS, USAGE_SUMS } from '../../src/ledger/usage-sums.ts';

/** Calls of one session: an agent or a chat makes several calls within a few minutes. */
const CALLS_PER_SESSION = 8;
const SECONDS_BETWEEN_CALLS = 20;
/** Kept free at the end of a range, so that a session that begins in it also ends in it. */
const TAIL = "interval '10 minutes'";
/** Nano-USD per token. */
const INPUT_NANO = 150;
const OUTPUT_NANO = 600;
export const OPENING_NANO = 1_000_000_000_000_000n;
const TOP_UP_NANO = 5_000_000_000n;

/** Returns a new id in the product's format: time first, the account's bucket last. */
const ownedId = (at: string, account: string) =>
  `(left(id_floor(${at})::text, 14) || substr(gen_random_uuid()::text, 15, 19) || right(${account}::text, 3))::uuid`;

/**
 * Creates accounts by size: the n-th has 1/n of the calls of the first; together they have `calls`. Here and below, times are ISO 8601, and
 * tables of the generator are named `year_…`.
 */
export const inventAccounts = (accounts: number, calls: number, begin: string) => `
  CREATE UNLOGGED TABLE year_accounts AS
    SELECT n AS rank, (left(id_floor(t.begin)::text, 14) || substr(gen_random_uuid()::text, 15))::uuid AS id,
           greatest(1, round(${calls}::numeric / n / h.harmonic))::integer AS calls, NULL::uuid AS first_key, NULL::uuid AS second_key
      FROM generate_series(1, ${accounts}) n, (SELECT '${begin}'::timestamptz AS begin) t,
           (SELECT sum(1.0 / m) AS harmonic FROM generate_series(1, ${accounts}) m) h;
  UPDATE year_accounts a SET first_key = ${ownedId(`'${begin}'::timestamptz`, 'a.id')}, second_key = ${ownedId(`'${begin}'::timestamptz`, 'a.id')};
  CREATE UNLOGGED TABLE year_calls (account_id uuid, api_key_id uuid, id uuid, begun timestamptz, at timestamptz, model integer,
    input_tokens integer, output_tokens integer, latency_ms integer, charge_input bigint, charge_output bigint)`;

/** Creates the account, keys and balance of each, as if they had just been opened. */
export const openAccounts = (begin: string) => `
  SELECT count(open_account(id, 'Account ' || rank)) FROM year_accounts;
  UPDATE accounts SET created_at = '${begin}';
  INSERT INTO api_keys (id, account_id, hash, name, label, role, created_at)
    SELECT k.id, a.id, encode(sha256(convert_to(k.id::text, 'UTF8')), 'hex'), 'key', 'sk-tg-v1-abc...' || right(k.id::text, 4), 'owner', '${begin}'
      FROM year_accounts a, unnest(ARRAY[a.first_key, a.second_key]) k (id)`;

/** Creates calls between two times: a `share` (0 to 1) of each account's yearly calls, in sessions of eight on one key and model. */
export const inventCalls = (from: string, until: string, share: number) => `
  INSERT INTO year_calls
    SELECT account_id, api_key_id, ${ownedId('begun', 'account_id')}, begun, begun + latency_ms * interval '1 ms', model,
           input_tokens, output_tokens, latency_ms, input_tokens * ${INPUT_NANO}::bigint, output_tokens * ${OUTPUT_NANO}::bigint
      FROM (
        SELECT s.account_id, s.api_key_id, s.model, s.begins + (c.call * ${SECONDS_BETWEEN_CALLS} + random() * 10) * interval '1 s' AS begun,
               (400 + 3000 * random() ^ 3)::integer AS latency_ms, (200 + 4000 * random() ^ 2)::integer AS input_tokens,
               (20 + 800 * random() ^ 2)::integer AS output_tokens
          FROM (
            SELECT a.id AS account_id, CASE WHEN random() < 0.7 THEN a.first_key ELSE a.second_key END AS api_key_id,
                   floor(random() * 6)::integer AS model, a.calls - g.session * ${CALLS_PER_SESSION} AS calls_left,
                   '${from}'::timestamptz + (g.session + random()) / ceil(a.calls / ${CALLS_PER_SESSION}.0)
                     * ('${until}'::timestamptz - '${from}'::timestamptz - ${TAIL}) AS begins
              FROM (SELECT id, first_key, second_key, floor(calls * ${share}::float8 + random())::integer AS calls FROM year_accounts OFFSET 0) a,
                   generate_series(0, ceil(a.calls / ${CALLS_PER_SESSION}.0)::integer - 1) g (session) OFFSET 0) s,
               generate_series(0, least(${CALLS_PER_SESSION}, s.calls_left) - 1) c (call) OFFSET 0) made`;

/** Creates opening credits, a monthly top-up and the charges, numbered and summed by account. A month is given by its start. */
export const inventEntries = (begin: string, last: string) => `
  CREATE UNLOGGED TABLE year_entries AS
    SELECT e.*, row_number() OVER w AS seq, (sum(amount) OVER w)::bigint AS balance_after FROM (
        SELECT account_id, -(charge_input + charge_output) AS amount, id AS reference, api_key_id, at FROM year_calls
        UNION ALL
        SELECT a.id, CASE WHEN m.month = '${begin}'::timestamptz THEN ${OPENING_NANO} ELSE ${TOP_UP_NANO} END,
               ${ownedId('m.month', 'a.id')}, NULL, m.month
          FROM year_accounts a, generate_series('${begin}'::timestamptz, '${last}'::timestamptz, interval '1 month') m (month)) e
    WINDOW w AS (PARTITION BY account_id ORDER BY at, reference ROWS UNBOUNDED PRECEDING);
  ANALYZE year_entries; ANALYZE year_calls`;

const PROVIDER = `(ARRAY['acme', 'globex', 'initech'])[1 + model % 3]`;
const MODEL = `(ARRAY['acme/small', 'acme/large', 'globex/chat-2', 'globex/reason-1', 'initech/mini', 'initech/code'])[1 + model]`;
const ENDPOINT = `CASE WHEN model = 5 THEN '/api/v1/messages' ELSE '/api/v1/chat/completions' END`;

/**
 * Writes the rows that settlements of calls would have written if answered at once (src/ledger/stored-call.ts), in order of time, so that
 * indexes grow as in production. Each statement runs on its own connection.
 */
export const WRITE_ROWS: readonly string[] = [
  `INSERT INTO generations (id, account_id, api_key_id, request_id, endpoint, model, status, input_tokens, output_tokens,
      cache_read_tokens, cache_write_tokens, reasoning_tokens, usage_source, price_version, hold_amount, charge, lines, shortfall,
      provider, provider_cost, attempts, finish_reason, streamed, latency_ms, first_token_ms, created_at, completed_at)
    SELECT id, account_id, api_key_id, NULL, ${ENDPOINT}, ${MODEL}, 'completed',
           input_tokens, output_tokens, NULL, NULL, NULL, 'provider', md5(${MODEL}), 2 * (charge_input + charge_output), charge_input + charge_output,
           jsonb_build_object('input', charge_input::text, 'output', charge_output::text), NULL, ${PROVIDER}, (charge_input + charge_output) / 2,
           jsonb_build_array(latency_ms - 2, ${MODEL}), 'stop', model <> 2, latency_ms,
           CASE WHEN model <> 2 THEN latency_ms / 4 END, begun, at
      FROM year_calls ORDER BY at`,
  `INSERT INTO ledger_entries (account_id, seq, type, amount, balance_after, contra, reference, api_key_id, at, actor, reason_code)
    SELECT account_id, seq, CASE WHEN api_key_id IS NULL THEN 'adjustment' ELSE 'usage_charge' END::ledger_entry_type, amount, balance_after,
           CASE WHEN api_key_id IS NULL THEN 'operator' ELSE 'revenue' END::ledger_contra, reference, api_key_id, at,
           CASE WHEN api_key_id IS NULL THEN 'system' END, CASE WHEN api_key_id IS NULL THEN 'grant' END
      FROM year_entries ORDER BY at`,
  `INSERT INTO usage_rollups (account_id, bucket, api_key_id, endpoint, model, requests, input_tokens, output_tokens, cache_read_tokens,
      cache_write_tokens, reasoning_tokens, charge, charge_input, charge_output, charge_cache_read, charge_cache_write, charge_reasoning,
      charge_request, charge_image, charge_video)
    SELECT account_id, date_bin('5 minutes', at, 'epoch'::timestamptz), api_key_id, ${ENDPOINT}, ${MODEL}, count(*), sum(input_tokens),
           sum(output_tokens), 0, 0, 0, sum(charge_input + charge_output), sum(charge_input), sum(charge_output), 0, 0, 0, 0, 0, 0
      FROM year_calls GROUP BY 1, 2, 3, 4, 5 ORDER BY 2`,
];

/** Writes the final state of balances and keys. */
export const writeState = `
  UPDATE balances b SET posted = s.posted, used = s.used, seq = s.seq, last_at = s.at
    FROM (SELECT account_id, sum(amount)::bigint AS posted, coalesce(-sum(amount) FILTER (WHERE api_key_id IS NOT NULL), 0)::bigint AS used,
                 count(*) AS seq, max(at) AS at FROM year_entries GROUP BY 1) s
   WHERE b.account_id = s.account_id;
  UPDATE api_keys k SET spent = s.spent, last_used_at = s.at
    FROM (SELECT api_key_id, -sum(amount)::bigint AS spent, max(at) AS at FROM year_entries WHERE api_key_id IS NOT NULL GROUP BY 1) s
   WHERE k.id = s.api_key_id;
  INSERT INTO ledger_watermarks (account_id, seq, balance, at) SELECT account_id, seq, posted, last_at FROM balances`;

const sumsBy = (length: 'hour' | 'day', from: string, column: string) => `
  INSERT INTO usage_${length}s (account_id, ${length}, api_key_id, endpoint, model, ${USAGE_SUMS.join(', ')})
    SELECT account_id, date_bin('1 ${length}', ${column}, 'epoch'::timestamptz), api_key_id, endpoint, model,
           ${USAGE_SUMS.map((name) => `sum(${name})`).join(', ')}
      FROM ${from} WHERE ${column} < date_bin('1 day', now(), 'epoch'::timestamptz) GROUP BY 1, 2, 3, 4, 5 ORDER BY 2`;

/** Writes the hours and days before today, as the nightly chore fills them. */
export const writeDays = `
  ${sumsBy('hour', 'usage_rollups', 'bucket')};
  ${sumsBy('day', 'usage_hours', 'hour')};
  INSERT INTO usage_hour_totals (account_id, hour, ${CHARGE_SUMS.join(', ')})
    SELECT account_id, hour, ${CHARGE_SUMS.map((name) => `sum(${name})`).join(', ')} FROM usage_hours GROUP BY 1, 2 ORDER BY 2;
  INSERT INTO usage_day_marks (account_id, totals_until, filled_until, final_until)
    SELECT account_id, today, today, today FROM balances, date_bin('1 day', now(), 'epoch'::timestamptz) today;
  UPDATE balances SET last_at = greatest(last_at, date_bin('1 day', now(), 'epoch'::timestamptz))`;

/** Writes the final statements of all months before a time, as closing would have made them. Entries must be sealed first. */
export const writeStatements = (until: string) => `
  INSERT INTO invoices (id, account_id, period_start, period_end, status, opening, purchases, usage, refunds, adjustments, closing,
      opening_seq, closing_seq, created_at, version, digest)
    SELECT owned_id(m.account_id, m.month), m.account_id, m.month, statement_end(m.month), 'paid', m.closing - m.adjustments + m.usage, 0,
           m.usage, 0, m.adjustments, m.closing, m.closing_seq - m.entries, m.closing_seq, statement_end(m.month) + interval '1 hour', 1,
           (SELECT s.digest FROM ledger_seals s WHERE s.account_id = m.account_id AND s.seq = m.closing_seq)
      FROM (SELECT t.*, sum(t.adjustments - t.usage) OVER w AS closing FROM (
              SELECT account_id, date_trunc('month', at, 'UTC') AS month, count(*) AS entries, max(seq) AS closing_seq,
                     coalesce(sum(amount) FILTER (WHERE api_key_id IS NULL), 0)::bigint AS adjustments,
                     coalesce(-sum(amount) FILTER (WHERE api_key_id IS NOT NULL), 0)::bigint AS usage
                FROM year_entries WHERE at < '${until}' GROUP BY 1, 2) t
            WINDOW w AS (PARTITION BY t.account_id ORDER BY t.month)) m`;

/** Writes small documents for the statements of a month: a month whose calls are archived must have all of them. */
export const writeDocuments = (month: string) => `
  INSERT INTO documents (id, kind, account_id, number, issued_at, facts, pdf, pdf_sha256)
    SELECT i.id, 'statement', i.account_id, row_number() OVER (ORDER BY i.id), i.created_at, '{}', b.pdf, sha256(b.pdf)
      FROM invoices i, LATERAL (SELECT convert_to('%PDF of ' || i.id, 'UTF8') AS pdf) b WHERE i.period_start = '${month}'`;
