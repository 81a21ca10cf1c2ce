import { createHash } from 'node:crypto';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import pg from 'pg';
import { transactionId } from '../../src/billing/transaction-id.ts';
import { LedgerVerifier } from '../../src/ledger/ledger-verifier.ts';
import { Movements } from '../../src/ledger/movements.ts';
import { NightlyProof } from '../../src/ledger/nightly-proof.ts';
import { StatementProof } from '../../src/ledger/statement-proof.ts';
import { idAt, newUuid, publicId, requestUuidOf } from '../../src/lib/ids.ts';
import { BookReportsReadModel } from '../../src/operators/books/book-reports.read-model.ts';
import { runCli } from '../../src/operators/cli/program.ts';
import { ChargeRecordReadModel } from '../../src/operators/lookup/charge-record.read-model.ts';
import { SearchReadModel } from '../../src/operators/lookup/search.read-model.ts';
import { oneCell } from '../../src/store/cells.ts';
import { createGeneration } from '../factories/generation.ts';
import { atTime } from '../factories/history.ts';
import { fundedAccount, type TestAccount } from '../factories/ledger.ts';
import { testMonthClose } from '../factories/month-close.ts';
import { temporaryFolder } from '../factories/temporary-folder.ts';
import { createTestDatabase, type TestDatabase } from '../setup/database.ts';

/** The month before last, so it has been over for at least a month. */
const MONTH = new Date();
MONTH.setUTCDate(1);
MONTH.setUTCHours(0, 0, 0, 0);
MONTH.setUTCMonth(MONTH.getUTCMonth() - 2);
const NAME = MONTH.toISOString().slice(0, 7);
const TABLE = `generations_${NAME.replace('-', '')}`;
const NEXT_MONTH = new Date(MONTH);
NEXT_MONTH.setUTCMonth(NEXT_MONTH.getUTCMonth() + 1);

let db: TestDatabase;
let owner: pg.Client;
let folder: string;
let accounts: readonly TestAccount[];

beforeEach(async () => {
  db = await createTestDatabase();
  owner = new pg.Client({ connectionString: db.ownerUrl });
  await owner.connect();
  folder = temporaryFolder('archive');
  await owner.query('SELECT create_month_partitions(m) FROM unnest($1::date[]) m', [[MONTH, NEXT_MONTH]]);
  accounts = await at(MONTH, '2 days', async (then) => [
    await fundedAccount(then, '5'),
    await fundedAccount(then, '5'),
  ]);
});
afterEach(async () => {
  await owner?.end();
  await db?.close();
});

/** Runs `work` with the ledger's clock set to `moment` plus `after`. */
function at<T>(
  moment: Date,
  after: string,
  work: (then: TestDatabase['database']) => Promise<T>,
): Promise<T> {
  const seconds = Math.round((moment.getTime() - Date.now()) / 1_000);
  return atTime(db.url, db.database, `${seconds} seconds ${after}`, work);
}

/** Makes calls of each account that end `after` a moment. Their ids are from the time `begun`. */
async function calls(moment: Date, after: string, count: number, begun = moment): Promise<void> {
  await at(moment, after, async (then) => {
    for (const account of accounts) {
      for (let call = 0; call < count; call += 1) {
        const id = newUuid(begun.getTime());
        await createGeneration(then, { ...account, charge: '0.01', id });
      }
    }
  });
}

function cli(...args: readonly string[]): Promise<{ code: number; text: string }> {
  return cliIn({ DATABASE_OWNER_URL: db.ownerUrl }, ...args);
}

async function cliIn(environment: Record<string, string>, ...args: readonly string[]) {
  let text = '';
  const stream = { isTTY: false, write: (chunk: string) => (text += chunk) };
  const code = await runCli(args, { environment, stdout: stream, stderr: stream });
  return { code, text };
}

async function violations(): Promise<unknown> {
  const verifier = new LedgerVerifier(db.database.money);
  await verifier.seal();
  const { violations: found } = await verifier.verify();
  const statements = new StatementProof(db.database.money);
  const night = await new NightlyProof({ pool: db.database.money, verifier, statements }).prove();
  return [...found, ...night.violations];
}

async function callsInDatabase(): Promise<string[]> {
  const { rows } = await owner.query<{ row: string }>(`SELECT g::text AS row FROM ${TABLE} g ORDER BY id`);
  return rows.map(({ row }) => row);
}

test('archives the calls of a closed month, restores them, and keeps the books valid throughout', async () => {
  await calls(MONTH, '3 days', 3);
  // begun in the month, ended after it
  await calls(NEXT_MONTH, '1 hour', 1, new Date(NEXT_MONTH.getTime() - 1_000));
  await calls(NEXT_MONTH, '2 hours', 2);
  await new LedgerVerifier(db.database.money).seal();
  expect(await cli('archive', 'export', NAME, '--to', folder)).toMatchObject({
    code: 1,
    text: expect.stringContaining('2 accounts have no final'),
  });
  const months = testMonthClose(db.database);
  await months.closeDueMonths();
  const before = await callsInDatabase();
  expect(before).toHaveLength(8);

  expect(await cli('archive', 'drop', NAME, '--from', folder, '--yes')).toMatchObject({ code: 1 });
  // the database's way to write dates on the day of the export is not that of the day of the restore
  const database = new URL(db.ownerUrl).pathname.slice(1);
  await owner.query(`ALTER DATABASE ${database} SET DateStyle = 'SQL, DMY'`);
  expect(await cli('archive', 'export', NAME, '--to', folder)).toMatchObject({ code: 0 });
  await owner.query(`ALTER DATABASE ${database} RESET DateStyle`);
  const path = join(folder, `calls-${NAME}.csv.gz`);
  const file = await readFile(path);
  const sha256 = createHash('sha256').update(file).digest('hex');
  const urlFile = join(folder, 'owner-url');
  await writeFile(urlFile, `${db.ownerUrl}\n`);
  expect((await cliIn({ DATABASE_OWNER_URL_FILE: urlFile }, 'archive', 'list')).text).toContain(sha256);
  expect(await readFile(`${path}.sha256`, 'utf8')).toBe(`${sha256}  calls-${NAME}.csv.gz\n`);
  expect(gunzipSync(file).toString().trim().split('\n')).toHaveLength(9);

  expect(await cli('archive', 'drop', NAME, '--from', folder)).toMatchObject({ code: 2 });
  await rm(path);
  await writeFile(path, Buffer.concat([file, Buffer.from('x')]));
  expect(await cli('archive', 'drop', NAME, '--from', folder, '--yes')).toMatchObject({
    code: 1,
    text: expect.stringContaining('is not what was exported'),
  });
  expect(await callsInDatabase()).toEqual(before);
  await writeFile(path, file);
  expect(await cli('archive', 'drop', NAME, '--from', folder, '--yes')).toMatchObject({ code: 0 });

  expect(await callsInDatabase()).toHaveLength(2);
  expect(await violations()).toEqual([]);
  const [account] = accounts;
  const { rows: charges } = await owner.query<{ reference: string }>(
    'SELECT reference FROM ledger_entries WHERE account_id = $1 AND seq = 2',
    [account?.accountId],
  );
  const refund = { accountId: account?.accountId ?? '', reference: newUuid(), description: 'goodwill' };
  await new Movements(() => db.database.money).refundCharge(refund, charges[0]?.reference ?? '');
  await calls(new Date(), '0 minutes', 1);
  expect(await violations()).toEqual([]);
  const books = new BookReportsReadModel(db.database.sequelize);
  const period = { start: MONTH, end: NEXT_MONTH };
  await expect(
    books.margin(period, idAt(0), { granularity: 'month', groups: ['model'] }, 10),
  ).rejects.toThrow(`The calls of ${NAME} are archived`);
  const records = new ChargeRecordReadModel(oneCell(db.database), { find: async () => undefined });
  const archived = charges[0]?.reference ?? '';
  expect(await records.find(archived, '')).toBeUndefined();
  expect(await records.archivedMonthOf(archived)).toBe(NAME);
  expect(await records.archivedMonthOf(newUuid())).toBeUndefined();
  const request = publicId('request', requestUuidOf(archived));
  const search = new SearchReadModel(db.database.sequelize);
  const transaction = transactionId({ type: 'usage_charge', reference: archived });
  expect(await search.find(request)).toMatchObject([
    { kind: 'transaction', id: transaction, summary: '-0.01 USD' },
  ]);
  expect(await search.generationOfRequest(request)).toBe(publicId('generation', archived));
  const act = { actor: 'test', request_id: null };
  await expect(months.reissue(refund.accountId, MONTH, 'x', act)).rejects.toThrow('archived');

  expect(await cli('archive', 'restore', NAME, '--from', folder)).toMatchObject({ code: 0 });
  expect(await callsInDatabase()).toEqual(before);
  expect(await violations()).toEqual([]);
  expect(await cli('archive', 'restore', NAME, '--from', folder)).toMatchObject({ code: 1 });
  expect(await months.reissue(refund.accountId, MONTH, 'x', act)).toBe(1);
  const { rows } = await owner.query('SELECT action, object FROM audit_log ORDER BY id');
  expect(rows).toEqual([
    { action: 'archive.drop', object: NAME },
    { action: 'archive.restore', object: NAME },
  ]);
});

/** Changes to a month whose calls are archived, how to undo each, and the violation that reports it. */
const FORGERIES: readonly (readonly [told: RegExp, forge: string, back: string])[] = [
  [
    /I5/,
    'UPDATE ledger_entries SET amount = amount - 1 WHERE seq = 2',
    'UPDATE ledger_entries SET amount = amount + 1 WHERE seq = 2',
  ],
  [
    /I12.*archived bucket/,
    'UPDATE usage_rollups SET charge = charge + 1, charge_input = charge_input + 1',
    'UPDATE usage_rollups SET charge = charge - 1, charge_input = charge_input - 1',
  ],
];

test('detects changes to the books of an archived month', async () => {
  await calls(MONTH, '3 days', 3);
  await new LedgerVerifier(db.database.money).seal();
  await testMonthClose(db.database).closeDueMonths();
  await cli('archive', 'export', NAME, '--to', folder);
  expect(await cli('archive', 'drop', NAME, '--from', folder, '--yes')).toMatchObject({ code: 0 });
  await owner.query('SET session_replication_role = replica');
  for (const [told, forge, back] of FORGERIES) {
    await owner.query(forge);
    expect(JSON.stringify(await violations())).toMatch(told);
    await owner.query(back);
  }
  expect(await violations()).toEqual([]);
  // calls that are gone without being archived
  await owner.query(`UPDATE call_archives SET dropped_at = NULL`);
  expect(JSON.stringify(await violations())).toMatch(/I6.*I12.*I16/);
  await owner.query(`UPDATE call_archives SET dropped_at = now()`);
});
