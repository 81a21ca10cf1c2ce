import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { BookRoots } from '../../src/ledger/book-roots.ts';
import { LedgerVerifier } from '../../src/ledger/ledger-verifier.ts';
import { Movements } from '../../src/ledger/movements.ts';
import { newUuid, publicId } from '../../src/lib/ids.ts';
import { fundedAccount, type TestAccount, usd } from '../factories/ledger.ts';
import { createTestDatabase, type TestDatabase } from '../setup/database.ts';

let db: TestDatabase;
let owner: pg.Client;
let folder: string;
let account: TestAccount;

beforeEach(async () => {
  db = await createTestDatabase();
  owner = new pg.Client({ connectionString: db.ownerUrl });
  await owner.connect();
  await owner.query('SET session_replication_role = replica');
  folder = await mkdtemp(join(tmpdir(), 'tollgate-roots-'));
  account = await fundedAccount(db.database, '5');
});

afterEach(async () => {
  await owner?.end();
  await db?.discard();
  await rm(folder, { recursive: true, force: true });
});

/** Does something with the books so many days from now. */
async function inDays<T>(
  days: number,
  work: (roots: BookRoots, verifier: LedgerVerifier) => Promise<T>,
): Promise<T> {
  const pool = new pg.Pool({
    connectionString: db.ownerUrl,
    options: `-c tollgate.clock_offset=${days}d`,
    max: 1,
  });
  try {
    const roots = new BookRoots(pool, folder);
    return await work(roots, new LedgerVerifier(pool, roots));
  } finally {
    await pool.end();
  }
}

async function bookAndSeal(): Promise<void> {
  const movement = { accountId: account.accountId, reference: newUuid(), description: 'Goodwill' };
  const act = {
    actor: 'alice',
    request_id: 'req_1',
    action: 'account.adjust',
    object: 'acc',
    detail: { a: 1 },
  };
  await new Movements(db.database.money).adjust({ ...movement, act }, usd('1'));
  await new LedgerVerifier(db.database.money).seal();
}

/** What a database owner can do who takes care that the seals are right, too. */
async function editAndSealAgain(edit: string): Promise<void> {
  await owner.query(edit);
  await owner.query('DELETE FROM ledger_seals; DELETE FROM audit_seals');
  await owner.query('SELECT seal_account(id) FROM accounts');
  await owner.query('SELECT seal_audit_log()');
}

test('each day that is over has a file, which names the one before', async () => {
  await bookAndSeal();
  expect(await inDays(0, (roots) => roots.writeDue())).toBe(1);
  expect(await inDays(3, (roots) => roots.writeDue())).toBe(3);
  expect(await inDays(3, (roots) => roots.writeDue())).toBe(0);
  const names = (await readdir(folder)).sort();
  expect(names).toHaveLength(4);
  const today = await readFile(join(folder, names[1] ?? ''), 'utf8');
  expect(today).toMatch(
    /^tollgate books of \d{4}-\d\d-\d\d\nprevious [0-9a-f]{64}\nacc_\S+ 2 [0-9a-f]{64}\naudit 1 [0-9a-f]{64}\n$/,
  );
  expect(today).toContain(publicId('account', account.accountId));
  expect(await inDays(3, (_, verifier) => verifier.verify())).toMatchObject({ violations: [], checked: 18 });
});

test('a day is not written before all of it is sealed', async () => {
  await inDays(0, (roots) => roots.writeDue());
  expect(await inDays(1, (roots) => roots.writeDue())).toBe(0);
  await bookAndSeal();
  expect(await inDays(1, (roots) => roots.writeDue())).toBe(1);
});

test.each([
  [
    'an entry',
    `UPDATE ledger_entries SET description = 'Other' WHERE seq = 2`,
    /an entry up to seq 2 is not what it was/,
  ],
  ['the audit log', `UPDATE audit_log SET actor = 'mallory'`, /a row up to position 1 is not what it was/],
])('%s that was edited and sealed anew is told by the file', async (_, edit, detail) => {
  await bookAndSeal();
  await inDays(1, (roots) => roots.writeDue());
  await editAndSealAgain(edit);
  expect((await new LedgerVerifier(db.database.money).verify()).violations).toEqual([]);
  const { ok, violations } = await inDays(1, (_roots, verifier) => verifier.verify());
  expect(ok).toBe(false);
  expect(violations).toHaveLength(1);
  expect(violations[0]?.detail).toMatch(detail);
});

test('a file that was edited or taken away is told', async () => {
  await bookAndSeal();
  await inDays(0, (roots) => roots.writeDue());
  await inDays(3, (roots) => roots.writeDue());
  const names = (await readdir(folder)).sort();
  const second = join(folder, names[1] ?? '');
  const text = await readFile(second, 'utf8');
  await rm(second);
  const gone = await inDays(3, (roots) => roots.compare());
  expect(gone.map(({ object }) => `${object}.txt`)).toEqual([names[2]]);
  await writeFile(second, text.replace(/audit .*\n/, ''));
  const edited = await inDays(3, (roots) => roots.compare());
  expect(edited.map(({ object }) => `${object}.txt`)).toEqual([names[2]]);
});

test('a folder that is away is said to be', async () => {
  await rm(folder, { recursive: true });
  await expect(inDays(1, (_, verifier) => verifier.verify())).rejects.toMatchObject({
    code: 'service_unavailable',
    message: expect.stringContaining('BOOKS_ROOTS_DIR'),
  });
});
