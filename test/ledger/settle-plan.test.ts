import pg from 'pg';
import { createDatabase } from '../../src/store/database.ts';
import { eventually } from '../factories/eventually.ts';
import {
  fundedAccount,
  holdRequest,
  settlement,
  type TestAccount,
  testLedger,
  usd,
} from '../factories/ledger.ts';
import { createTestDatabase, type TestDatabase } from '../setup/database.ts';

const HOLDS = 400;

let db: TestDatabase;
let owner: pg.Client;

beforeAll(async () => {
  db = await createTestDatabase();
  owner = new pg.Client({ connectionString: db.ownerUrl });
  await owner.connect();
});

afterAll(async () => {
  await owner?.end();
  await db?.close();
});

/** Returns how many rows of holds were read by any index except the primary key since the database was created. */
async function rowsRead(): Promise<number> {
  const { rows } = await owner.query<{ read: string }>(
    `SELECT sum(idx_tup_read) AS read FROM pg_stat_user_indexes
      WHERE relname = 'holds' AND indexrelname <> 'holds_pkey'`,
  );
  return Number(rows[0]?.read);
}

/**
 * Opens holds and settles all but the last `open` of them, few at first and then all the rest together. Returns the rows read
 * meanwhile.
 */
async function reserveAndSettle(account: TestAccount, open: number): Promise<number> {
  const before = await rowsRead();
  const database = createDatabase({ url: db.url, moneyConnections: 2, connections: 1 }, () => undefined);
  const ledger = testLedger(database);
  const requests = Array.from({ length: HOLDS }, () => ledger.reserve(holdRequest(account, usd('0.1'))));
  const holds = (await Promise.all(requests)).slice(0, HOLDS - open);
  for (const hold of holds.slice(0, 10)) {
    await ledger.settle(settlement(hold, usd('0.01')));
  }
  await Promise.all(holds.slice(10).map((hold) => ledger.settle(settlement(hold, usd('0.01')))));
  await ledger.close();
  // a connection reports its counts when it ends
  await database.close();
  await leftAlone();
  return (await rowsRead()) - before;
}

/** Resolves when no connection that has settled is left. */
async function leftAlone(): Promise<void> {
  await eventually(async () => {
    const { rows } = await owner.query<{ others: number }>(
      `SELECT count(*)::integer AS others FROM pg_stat_activity
        WHERE datname = current_database() AND query LIKE '%ledger_settle%' AND pid <> pg_backend_pid()`,
    );
    return rows[0]?.others === 0;
  });
}

test('settlements read only their own holds, even when the statistics know of few rows', async () => {
  const account = await fundedAccount(db.database, '1000');
  await reserveAndSettle(account, 1);
  // by the statistics, a large table with one row
  await owner.query('VACUUM (ANALYZE) holds');
  expect(await reserveAndSettle(account, 0)).toBeLessThan(HOLDS);
});
