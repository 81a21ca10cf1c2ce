import { createHash } from 'node:crypto';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import pg from 'pg';
import { rootCopies } from '../../src/compose/root-copies.ts';
import { BookRoots, type RootCopy } from '../../src/ledger/book-roots.ts';
import { LedgerVerifier } from '../../src/ledger/ledger-verifier.ts';
import { Movements } from '../../src/ledger/movements.ts';
import { newUuid, publicId } from '../../src/lib/ids.ts';
import { fundedAccount, type TestAccount, usd } from '../factories/ledger.ts';
import { temporaryFolder } from '../factories/temporary-folder.ts';
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
  folder = temporaryFolder('roots');
  account = await fundedAccount(db.database, '5');
});

afterEach(async () => {
  await owner?.end();
  await db?.discard();
});

const DAY_MS = 86_400_000;

/** Runs `work` on the books with the ledger clock at noon, `days` days ahead: a day stays due for minutes after its midnight. */
async function inDays<T>(
  days: number,
  work: (roots: BookRoots, verifier: LedgerVerifier) => Promise<T>,
  copies: readonly RootCopy[] = [],
): Promise<T> {
  const now = Date.now();
  const ahead = days * DAY_MS + DAY_MS / 2 - (now % DAY_MS);
  const pool = new pg.Pool({
    connectionString: db.ownerUrl,
    options: `-c tollgate.clock_offset=${ahead}ms`,
    max: 1,
  });
  try {
    const roots = new BookRoots(pool, folder, copies);
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
  await new Movements(() => db.database.money).adjust({ ...movement, act }, usd('1'));
  await new LedgerVerifier(db.database.money).seal();
}

/** Tampers as a database owner would who also rebuilds the seals. */
async function editAndSealAgain(edit: string): Promise<void> {
  await owner.query(edit);
  await owner.query('DELETE FROM ledger_seals; DELETE FROM audit_seals');
  await owner.query('SELECT seal_account(id) FROM accounts');
  await owner.query('SELECT seal_audit_log()');
}

test('writes a file for each finished day that names the previous one', async () => {
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

test('does not write a day before all of it is sealed', async () => {
  await inDays(0, (roots) => roots.writeDue());
  expect(await inDays(1, (roots) => roots.writeDue())).toBe(0);
  await bookAndSeal();
  expect(await inDays(1, (roots) => roots.writeDue())).toBe(1);
});

test.each([
  [
    'an entry',
    `UPDATE ledger_entries SET description = 'Other' WHERE seq = 2`,
    /an entry up to seq 2 has changed since/,
  ],
  ['the audit log', `UPDATE audit_log SET actor = 'mallory'`, /a row up to position 1 has changed since/],
])('detects %s edited and resealed by comparing with the file', async (_, edit, detail) => {
  await bookAndSeal();
  await inDays(1, (roots) => roots.writeDue());
  await editAndSealAgain(edit);
  expect((await new LedgerVerifier(db.database.money).verify()).violations).toEqual([]);
  const { ok, violations } = await inDays(1, (_roots, verifier) => verifier.verify());
  expect(ok).toBe(false);
  expect(violations).toHaveLength(1);
  expect(violations[0]?.detail).toMatch(detail);
});

test('detects a file that was edited or removed', async () => {
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

test('reports a missing folder', async () => {
  await rm(folder, { recursive: true });
  await expect(inDays(1, (_, verifier) => verifier.verify())).rejects.toMatchObject({
    code: 'service_unavailable',
    message: expect.stringContaining('BOOKS_ROOTS_DIR'),
  });
});

test('posts each file to the configured address and keeps the day due while that fails', async () => {
  const got: { body: Buffer; headers: Record<string, unknown> }[] = [];
  let status = 500;
  const receiver = createServer(async (request, response) => {
    got.push({ body: await buffer(request), headers: { ...request.headers } });
    response.writeHead(status).end('x');
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  const { port } = receiver.address() as AddressInfo;
  const where = { bookRootsFolder: folder, bookRootsBucket: null, storage: { kind: 'fs' } } as const;
  try {
    const copies = rootCopies({ ...where, bookRootsWebhook: `http://127.0.0.1:${port}/books` });
    await bookAndSeal();
    const write = () => inDays(0, (roots) => roots.writeDue(), copies);
    await expect(write()).rejects.toMatchObject({ message: 'BOOKS_ROOTS_WEBHOOK answered 500.' });
    expect(await readdir(folder)).toEqual([]);
    status = 204;
    expect(await write()).toBe(1);
    const [name = ''] = await readdir(folder);
    const file = await readFile(join(folder, name));
    expect(got).toHaveLength(2);
    expect(got[1]?.body.equals(file)).toBe(true);
    const digest = createHash('sha256').update(file).digest('base64');
    expect(got[1]?.headers).toMatchObject({
      'content-disposition': `attachment; filename="${name}"`,
      'repr-digest': `sha-256=:${digest}:`,
    });
  } finally {
    receiver.closeAllConnections();
    receiver.close();
  }
});

test('rejects copies without the folder and a bucket without a store', () => {
  const none = { bookRootsFolder: null, bookRootsBucket: null, bookRootsWebhook: null } as const;
  const storage = { kind: 'fs' } as const;
  expect(rootCopies({ ...none, storage })).toEqual([]);
  expect(() => rootCopies({ ...none, storage, bookRootsWebhook: 'https://a.example' })).toThrow(
    'BOOKS_ROOTS_DIR is not set',
  );
  expect(() => rootCopies({ ...none, storage, bookRootsFolder: '/', bookRootsBucket: 'books' })).toThrow(
    'BOOKS_ROOTS_BUCKET',
  );
});
