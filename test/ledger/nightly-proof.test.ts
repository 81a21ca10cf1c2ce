import pg from 'pg';
import { writeHistory } from '../../bench/ledger/history.ts';
import { LedgerVerifier } from '../../src/ledger/ledger-verifier.ts';
import { NightlyProof, type NightlyReport } from '../../src/ledger/nightly-proof.ts';
import { StatementProof } from '../../src/ledger/statement-proof.ts';
import { newUuid } from '../../src/lib/ids.ts';
import { createGeneration } from '../factories/generation.ts';
import { atTime } from '../factories/history.ts';
import { fundedAccount, type TestAccount } from '../factories/ledger.ts';
import { testMonthClose } from '../factories/month-close.ts';
import { createTestDatabase, type TestDatabase } from '../setup/database.ts';

/** Noon in the middle of last month: no month ends while a test runs. */
const NOON = new Date();
NOON.setUTCHours(12, 0, 0, 0);
NOON.setUTCMonth(NOON.getUTCMonth() - 1, 15);
const past = (offset: string) => `${Math.round((NOON.getTime() - Date.now()) / 1_000)} seconds ${offset}`;

let db: TestDatabase;
let owner: pg.Client;
let account: TestAccount;

beforeEach(async () => {
  db = await createTestDatabase();
  owner = new pg.Client({ connectionString: db.ownerUrl });
  await owner.connect();
  await owner.query('SET session_replication_role = replica');
});
afterEach(async () => {
  await owner?.end();
  // some tests break the books on purpose
  await db?.discard();
});

function nightly(pool: pg.Pool, entriesAgain?: number): NightlyProof {
  const verifier = new LedgerVerifier(pool);
  const statements = new StatementProof(pool);
  return new NightlyProof({
    pool,
    verifier,
    statements,
    ...(entriesAgain !== undefined && { entriesAgain }),
  });
}

/** Runs a proof at another time of the ledger. */
const proveAt = (offset: string, entriesAgain?: number): Promise<NightlyReport> =>
  atTime(db.url, db.database, offset, ({ money }) => nightly(money, entriesAgain).prove());

/** Makes calls of the account at another time, then seals them like the check that runs each minute. */
async function callsAt(offset: string, count: number): Promise<void> {
  await atTime(db.url, db.database, offset, async (then) => {
    for (let call = 0; call < count; call += 1) {
      await createGeneration(then, { ...account, charge: '0.01' });
    }
  });
  await new LedgerVerifier(db.database.money).seal();
}

/** Sets up an account with a final closed month, two calls since then, and a proof of all of it. */
async function provenAccount(): Promise<void> {
  account = await atTime(db.url, db.database, past('-70 days'), (then) => fundedAccount(then, '5'));
  await callsAt(past('-69 days'), 3);
  await atTime(db.url, db.database, past('-3 hours'), (then) => testMonthClose(then).closeDueMonths());
  await callsAt(past('-2 hours'), 2);
  expect(await proveAt(past('-1 hour'))).toMatchObject({ accounts: 1, whole: 1, violations: [] });
}

test('proves an account whole once, then only what is new, and closed months again in rotation', async () => {
  await provenAccount();
  expect(await proveAt(past('-1 hour'), 0)).toMatchObject({
    entries: 0,
    whole: 0,
    statements: 0,
    violations: [],
  });
  await callsAt(past('-40 minutes'), 4);
  expect(await proveAt(past('-20 minutes'), 0)).toMatchObject({ entries: 4, whole: 0, violations: [] });
  expect(await proveAt(past('-20 minutes'), 0)).toMatchObject({ entries: 0, whole: 0 });
  // a new account
  const other = await fundedAccount(db.database, '1');
  await createGeneration(db.database, { ...other, charge: '0.5' });
  expect(await proveAt(past('0 minutes'), 0)).toMatchObject({ accounts: 2, whole: 1, violations: [] });
  const again = () =>
    owner.query<{ proven: boolean; oldest: Date }>(
      `SELECT count(p.proven_at) = count(*) AS proven, min(p.proven_at) AS oldest
         FROM invoices i LEFT JOIN statement_proofs p ON p.statement_id = i.id`,
    );
  const { rowCount: statements } = await owner.query('SELECT 1 FROM invoices');
  for (let night = 0; night < (statements ?? 0); night += 1) {
    expect(await proveAt(past('0 minutes'), 1)).toMatchObject({ violations: [] });
  }
  const [first] = (await again()).rows;
  expect(first).toMatchObject({ proven: true });
  await proveAt(past('0 minutes'), 1);
  expect((await again()).rows[0]?.oldest.getTime()).toBeGreaterThan(first?.oldest.getTime() ?? 0);
  const { rows } = await owner.query(`SELECT DISTINCT kind FROM ledger_checks`);
  expect(rows).toEqual([{ kind: 'nightly' }]);
});

/** Sets up accounts like {@link provenAccount}, each named after what a test changes in it. */
async function provenAccounts(names: readonly string[]): Promise<ReadonlyMap<string, TestAccount>> {
  const made = new Map<string, TestAccount>();
  await atTime(db.url, db.database, past('-70 days'), async (then) => {
    for (const name of names) {
      made.set(name, await fundedAccount(then, '5'));
    }
  });
  const callOfEach = async (offset: string, count: number) => {
    for (account of made.values()) {
      await callsAt(offset, count);
    }
  };
  await callOfEach(past('-69 days'), 3);
  await atTime(db.url, db.database, past('-3 hours'), (then) => testMonthClose(then).closeDueMonths());
  await callOfEach(past('-2 hours'), 2);
  expect(await proveAt(past('-1 hour'))).toMatchObject({ whole: names.length, violations: [] });
  return made;
}

/** Changes to a closed and proven month of account $1 that keep the sums right. */
const OLD: Readonly<Record<string, string>> = {
  'a description': `UPDATE ledger_entries SET description = 'x' WHERE account_id = $1 AND seq = 1`,
  'the cost of a call': `UPDATE generations SET provider_cost = 7
    WHERE id = (SELECT reference FROM ledger_entries WHERE account_id = $1 AND seq = 2)`,
  'a statement': `UPDATE invoices SET usage = usage + 1, adjustments = adjustments + 1 WHERE account_id = $1`,
  'the model in roll-ups': `UPDATE usage_rollups SET model = 'x'
    WHERE account_id = $1 AND bucket < (SELECT at FROM ledger_entries WHERE account_id = $1 AND seq = 4)`,
  'a document': `UPDATE documents SET pdf = 'x' WHERE account_id = $1`,
};

test('detects changes to closed months by the rotation and by the full proof', async () => {
  const accounts = await provenAccounts(Object.keys(OLD));
  for (const [what, { accountId }] of accounts) {
    await owner.query(OLD[what] ?? '', [accountId]);
  }
  expect((await proveAt(past('0 minutes'), 0)).violations).toEqual([]);
  const { rows } = await owner.query<{ id: string; account_id: string }>(
    'SELECT id, account_id FROM invoices',
  );
  const accountOf = new Map(rows.map(({ id, account_id }) => [id, account_id]));
  for (let night = 0; night < 2; night += 1) {
    const { violations } = await proveAt(past('0 minutes'));
    const told = new Set(violations.map(({ object }) => accountOf.get(object)));
    expect(told).toEqual(new Set([...accounts.values()].map(({ accountId }) => accountId)));
  }
  expect((await new LedgerVerifier(db.database.money).verify()).ok).toBe(false);
});

/** Changes of account $1 to what the next proof covers, and the violation each one causes. */
const NEW: Readonly<Record<string, readonly [told: RegExp, forge: string]>> = {
  'an entry': [
    /I16.* seq 7 was changed/,
    `UPDATE ledger_entries SET description = 'x' WHERE account_id = $1 AND seq = 7`,
  ],
  'a call': [
    /I16.* seq 8 was changed/,
    `UPDATE generations SET model = 'x' WHERE id = (SELECT reference FROM ledger_entries WHERE account_id = $1 AND seq = 8)`,
  ],
  'the roll-ups': [
    /I12.* bucket/,
    `UPDATE usage_rollups SET model = 'x'
      WHERE account_id = $1 AND bucket > (SELECT at FROM ledger_entries WHERE account_id = $1 AND seq = 6)`,
  ],
  'a balance': [/I1: .* posted/, 'UPDATE balances SET posted = posted + 1 WHERE account_id = $1'],
  'what was used': [/I4: .* used/, 'UPDATE balances SET used = used + 1 WHERE account_id = $1'],
  'what a key spent': [/I3: .* spent/, 'UPDATE api_keys SET spent = spent + 1 WHERE account_id = $1'],
  'a debt': [/I10: .* debt/, 'UPDATE balances SET debt = 1 WHERE account_id = $1'],
  'held money': [/I2: .* held/, 'UPDATE balances SET held = 1 WHERE account_id = $1'],
  'a charge without its entry': [
    /I6: .* charge/,
    `WITH gone AS (DELETE FROM ledger_entries WHERE account_id = $1 AND seq = 8)
     UPDATE balances SET seq = 7 WHERE account_id = $1`,
  ],
  'the audit log': [/I16: .* audit/, `INSERT INTO audit_seals SELECT 1, 1, 'x' WHERE $1::uuid IS NOT NULL`],
};

test('detects changes to new data in the next proof and in each one after it', async () => {
  const accounts = await provenAccounts(Object.keys(NEW));
  for (account of accounts.values()) {
    await callsAt(past('-40 minutes'), 2);
  }
  for (const [what, { accountId }] of accounts) {
    await owner.query(NEW[what]?.[1] ?? '', [accountId]);
  }
  for (let night = 0; night < 2; night += 1) {
    const { violations } = await proveAt(past('-20 minutes'), 0);
    const told = violations.map(({ claim, object, detail }) => `${claim} ${object} ${detail}`).join('\n');
    for (const [pattern] of Object.values(NEW)) {
      expect(told).toMatch(pattern);
    }
  }
});

test('detects an entry that was changed after its proof and resealed together with all later ones', async () => {
  await provenAccount();
  await owner.query(`UPDATE ledger_entries SET description = 'x' WHERE seq = 1`);
  await owner.query('DELETE FROM ledger_seals');
  await new LedgerVerifier(db.database.money).seal();
  await owner.query(
    'UPDATE invoices i SET digest = (SELECT digest FROM ledger_seals s WHERE s.account_id = i.account_id AND s.seq = i.closing_seq)',
  );
  expect((await new LedgerVerifier(db.database.money).verify()).ok).toBe(true);
  for (let night = 0; night < 2; night += 1) {
    expect((await proveAt(past('0 minutes'), 0)).violations).toMatchObject([
      { detail: 'an entry up to seq 6 was changed and sealed again' },
    ]);
  }
});

test('reports no violation when the clock steps back before what was proven', async () => {
  account = await atTime(db.url, db.database, past('-5 hours'), (then) => fundedAccount(then, '5'));
  await proveAt(past('-1 hour'), 0);
  await callsAt(past('-3 hours'), 2);
  expect(await proveAt(past('-30 minutes'), 0)).toMatchObject({ whole: 1, violations: [] });
  expect(await proveAt(past('0 minutes'), 0)).toMatchObject({ whole: 0, violations: [] });
});

test('reads rows in proportion to what is new, not to history', async () => {
  // one session for all that reads much: other sessions report their statistics at a time of their own
  const pool = new pg.Pool({ connectionString: db.url, max: 1 });
  const verifier = new LedgerVerifier(pool);
  const setClock = (offset: string) =>
    pool.query(`SELECT set_config('tollgate.clock_offset', $1, false)`, [offset]);
  const read: number[] = [];
  for (const history of [500, 5_000]) {
    account = await atTime(db.url, db.database, '-31 days', (then) => fundedAccount(then, '5'));
    await writeHistory(owner, account, history);
    await owner.query('UPDATE balances SET last_at = now() WHERE account_id = $1', [account.accountId]);
    await verifier.seal();
    await owner.query('VACUUM ANALYZE');
    await setClock('1 hour');
    expect(await nightly(pool, 0).prove()).toMatchObject({ whole: 1, violations: [] });
    await atTime(db.url, db.database, '1 hour', async (then) => {
      for (let call = 0; call < 20; call += 1) {
        await createGeneration(then, { ...account, charge: '0.01' });
      }
    });
    await verifier.seal();
    await setClock('2 hours');
    const before = await rowsRead(pool);
    expect(await nightly(pool, 0).prove()).toMatchObject({ entries: 20, whole: 0, violations: [] });
    read.push((await rowsRead(pool)) - before);
  }
  await pool.end();
  const [little = 0, much = 0] = read;
  expect(much).toBeLessThan(1_000);
  expect(much).toBeLessThan(little * 2);
});

test('reads each entry and its call about once when sealing many in small lots', async () => {
  const [history, lot] = [8_000, 500];
  account = await atTime(db.url, db.database, '-31 days', (then) => fundedAccount(then, '5'));
  await writeHistory(owner, account, history);
  const before = await rowsRead(db.database.money);
  for (let sealed = 0; sealed < history; sealed += lot) {
    await owner.query('SELECT seal_account($1, $2)', [account.accountId, lot]);
  }
  expect((await rowsRead(db.database.money)) - before).toBeLessThan(3 * history);
});

test('seals a long tail in steps, each from where the last one ended', async () => {
  account = await atTime(db.url, db.database, '-31 days', (then) => fundedAccount(then, '5'));
  await writeHistory(owner, account, 2_499);
  await owner.query('SELECT seal_account($1, 10)', [account.accountId]);
  const skipping = owner.query(
    'SELECT seal_account($1, 10, (SELECT at FROM ledger_entries WHERE account_id = $1 AND seq = 1000))',
    [account.accountId],
  );
  await expect(skipping).rejects.toThrow(/before .* are not sealed/);
  expect(await new LedgerVerifier(db.database.money).seal()).toBe(2_490);
  expect(await nightly(db.database.money, 0).prove()).toMatchObject({ violations: [] });
});

/** Returns how many rows of entries, calls, seals and roll-ups the sessions have read so far. */
async function rowsRead(pool: pg.Pool): Promise<number> {
  // a session reports its reads at a time of its own, up to ten seconds later
  for (const session of [pool, owner]) {
    await session.query('SELECT pg_stat_force_next_flush()');
  }
  const { rows } = await owner.query<{ read: string }>(
    `SELECT sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)) AS read FROM pg_stat_user_tables
      WHERE relname ~ '^(ledger_entries|generations|ledger_seals|usage_rollups)'`,
  );
  return Number(rows[0]?.read);
}

test('proves nothing and breaks nothing for an unknown id', async () => {
  expect(await proveAt(past('0 minutes'))).toMatchObject({ accounts: 0, violations: [] });
  expect(await new StatementProof(db.database.money).prove([newUuid()])).toEqual(new Map());
});
