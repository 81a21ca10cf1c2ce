import pg from 'pg';
import { runCli } from '../../src/operators/cli/program.ts';
import { eventually } from '../factories/eventually.ts';
import { createTestDatabase, type TestDatabase } from '../setup/database.ts';

const MONTH = new Date();
MONTH.setUTCDate(1);
MONTH.setUTCHours(0, 0, 0, 0);
MONTH.setUTCMonth(MONTH.getUTCMonth() - 1);
const NAME = MONTH.toISOString().slice(0, 7);
const SUFFIX = NAME.replace('-', '');
const CALLS = 12_000;

let db: TestDatabase;
let owner: pg.Client;

beforeEach(async () => {
  db = await createTestDatabase();
  owner = new pg.Client({ connectionString: db.ownerUrl });
  await owner.connect();
  await owner.query('SELECT create_month_partitions($1)', [MONTH]);
});

afterEach(async () => {
  await owner?.end();
  // the rows have no balances
  await db?.discard();
});

async function cli(...args: readonly string[]): Promise<{ code: number; text: string }> {
  let text = '';
  const stream = { isTTY: false, write: (chunk: string) => (text += chunk) };
  const environment = { DATABASE_OWNER_URL: db.ownerUrl };
  const code = await runCli(args, { environment, stdout: stream, stderr: stream });
  return { code, text };
}

/** Writes calls of twenty accounts in turn, in the order of time, like a busy month. */
function write(from: number, to: number): Promise<unknown> {
  return owner.query(`
    WITH calls AS (
      SELECT (lpad(to_hex(n % 20), 8, '0') || '-0000-0000-0000-000000000000')::uuid AS account, n AS seq,
             '${MONTH.toISOString()}'::timestamptz + n * interval '1 second' AS at FROM generate_series(${from}, ${to}) n),
    made AS (
      INSERT INTO generations (id, account_id, api_key_id, request_id, endpoint, model, status, input_tokens, output_tokens,
          cache_read_tokens, cache_write_tokens, reasoning_tokens, usage_source, price_version, hold_amount, charge, lines, shortfall,
          attempts, streamed, latency_ms, created_at, completed_at)
        SELECT id_floor(at), account, account, 'req_' || seq, 'e', 'm', 'completed', 0, 0, 0, 0, 0, 'provider', 'p', 1, 1, '{}', 0, '[]',
               false, 1, at, at FROM calls ORDER BY at)
    INSERT INTO ledger_entries (account_id, seq, type, amount, balance_after, contra, reference, api_key_id, at)
      SELECT account, seq, 'usage_charge', -1, 0, 'revenue', id_floor(at), account, at FROM calls ORDER BY at`);
}

interface IndexFacts {
  readonly name: string;
  readonly is_valid: boolean;
  readonly is_part: boolean;
  readonly bytes: number;
}

async function indexes(): Promise<IndexFacts[]> {
  const { rows } = await owner.query<IndexFacts>(
    `SELECT c.relname AS name, i.indisvalid AS is_valid, c.relispartition AS is_part, pg_relation_size(c.oid)::integer AS bytes
       FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
      WHERE i.indrelid IN ('generations_${SUFFIX}'::regclass, 'ledger_entries_${SUFFIX}'::regclass) ORDER BY 1`,
  );
  return rows;
}

const bytesOf = (facts: readonly IndexFacts[]) => facts.reduce((sum, { bytes }) => sum + bytes, 0);

test('shrinks the indexes of a finished month by a third and still finds the same rows', async () => {
  await write(1, CALLS);
  const before = await indexes();
  const { code, text } = await cli('archive', 'pack', NAME, '--json');
  expect([code, JSON.parse(text).map((row: { table: string }) => row.table)]).toEqual([
    0,
    [`generations_${SUFFIX}`, `ledger_entries_${SUFFIX}`, `usage_rollups_${SUFFIX}`],
  ]);
  const after = await indexes();
  expect(after.map(({ name, is_valid, is_part }) => [name, is_valid, is_part])).toEqual(
    before.map(({ name }) => [name, true, true]),
  );
  expect(bytesOf(after) / bytesOf(before)).toBeLessThan(0.67);
  await owner.query('SET enable_seqscan = off');
  const { rows } = await owner.query(
    `SELECT count(*)::integer AS calls FROM generations WHERE account_id = '00000007-0000-0000-0000-000000000000'`,
  );
  expect(rows).toEqual([{ calls: CALLS / 20 }]);
});

test('accepts calls while it waits for a backup, and clears away what an aborted run left', async () => {
  await write(1, 100);
  // the state an aborted REINDEX leaves behind
  await owner.query(`CREATE INDEX left_ccnew ON generations_${SUFFIX} (account_id)`);
  await owner.query(`UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'left_ccnew'::regclass`);
  const backup = new pg.Client({ connectionString: db.ownerUrl });
  await backup.connect();
  await backup.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
  await backup.query('SELECT count(*) FROM generations');
  const packing = cli('archive', 'pack', NAME);
  await eventually(async () => {
    const { rowCount } = await owner.query(
      `SELECT 1 FROM pg_stat_activity WHERE application_name = 'tollgate-archive' AND wait_event_type = 'Lock'
          AND datname = current_database()`,
    );
    return rowCount === 1;
  });
  await owner.query(`SET lock_timeout = '2s'`);
  await write(101, 200);
  await backup.query('COMMIT');
  await backup.end();
  expect(await packing).toMatchObject({ code: 0, text: expect.stringContaining(`ledger_entries_${SUFFIX}`) });
  expect((await indexes()).filter(({ is_valid, is_part }) => !(is_valid && is_part))).toEqual([]);
});

test('packs every finished unpacked month when none is named, and packs recreated tables again', async () => {
  const packedTables = async () => {
    const { code, text } = await cli('archive', 'pack', '--json');
    return [code, JSON.parse(text).map((row: { table: string }) => row.table)];
  };
  const all = ['generations', 'ledger_entries', 'usage_rollups'].map((name) => `${name}_${SUFFIX}`);
  expect(await packedTables()).toEqual([0, all]);
  expect(await packedTables()).toEqual([0, []]);
  expect(await cli('archive', 'pack')).toEqual({ code: 0, text: 'Every past month is packed.\n' });
  await owner.query(`DROP TABLE generations_${SUFFIX}`);
  await owner.query('SELECT create_month_partitions($1)', [MONTH]);
  expect(await packedTables()).toEqual([0, all]);
});

test('rejects a month that is not over or does not exist', async () => {
  const now = new Date().toISOString().slice(0, 7);
  expect(await cli('archive', 'pack', now)).toMatchObject({
    code: 1,
    text: expect.stringContaining('is not over'),
  });
  expect(await cli('archive', 'pack', '2001-01')).toMatchObject({
    code: 1,
    text: expect.stringContaining('there is no table generations_200101'),
  });
});
