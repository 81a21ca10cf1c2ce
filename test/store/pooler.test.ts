import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { migrateUp } from '../../migrations/migrate.ts';
import { choosePort, tryListen } from '../../ops/embedded/free-port.ts';
import { createDatabase, type Database } from '../../src/store/database.ts';
import { inspectDatabase } from '../../src/store/inspect-database.ts';
import { eventually } from '../factories/eventually.ts';
import { fundedAccount, holdRequest, settlement, testLedger, usd } from '../factories/ledger.ts';
import { temporaryFolder } from '../factories/temporary-folder.ts';
import { createTestDatabase, type TestDatabase } from '../setup/database.ts';
import { PACKAGES_TIMEOUT_MS } from '../setup/debian-packages.ts';
import { type DebianProgram, findProgram } from '../setup/debian-program.ts';

let db: TestDatabase;
let program: DebianProgram;
const running: ChildProcess[] = [];

beforeAll(async () => {
  program = await findProgram('pgbouncer', 'usr/sbin/pgbouncer', '--version');
  db = await createTestDatabase();
}, PACKAGES_TIMEOUT_MS);
afterAll(async () => {
  for (const child of running) {
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  await db?.close();
});

/** Opens the test database through PgBouncer with only its required settings. */
async function through(poolMode: 'session' | 'transaction'): Promise<Database> {
  return createDatabase(
    { url: await urlThrough(poolMode), moneyConnections: 4, connections: 2, process: 'worker' },
    () => undefined,
  );
}

/** Starts a PgBouncer in front of the test database and returns its address. */
async function urlThrough(poolMode: 'session' | 'transaction', to = db.url): Promise<string> {
  const url = new URL(to);
  const port = await choosePort();
  const folder = temporaryFolder('pgbouncer');
  chmodSync(folder, 0o755);
  writeFileSync(join(folder, 'users.txt'), `"${url.username}" "${decodeURIComponent(url.password)}"\n`);
  writeFileSync(
    join(folder, 'pgbouncer.ini'),
    `[databases]
* = host=127.0.0.1 port=${url.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = plain
auth_file = ${join(folder, 'users.txt')}
pool_mode = ${poolMode}
`,
  );
  const asRoot = process.getuid?.() === 0 ? ['--user=nobody'] : [];
  running.push(
    spawn(program.command, [...asRoot, join(folder, 'pgbouncer.ini')], {
      env: program.environment,
      stdio: 'ignore',
    }),
  );
  await eventually(async () => (await tryListen('127.0.0.1', port)) !== undefined);
  url.port = String(port);
  return url.href;
}

test('rejects a pooler in transaction mode with a one-line message', async () => {
  const database = await through('transaction');
  await expect(inspectDatabase(database)).rejects.toMatchObject({
    name: 'ConfigError',
    message: expect.stringMatching(
      /^DATABASE_URL: this looks like a pooler in transaction mode.*session mode/,
    ),
  });
  await database.close();
});

test('a migration rejects a pooler in transaction mode, and leaves no lock for the next one to wait for', async () => {
  await expect(migrateUp({ ownerUrl: await urlThrough('transaction', db.ownerUrl) })).rejects.toMatchObject({
    name: 'TransactionPoolerError',
    message: expect.stringMatching(/^this looks like a pooler in transaction mode.*session mode/),
  });
  const { rows } = await db.database.money.query(
    `SELECT FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
  );
  expect(rows).toEqual([]);
});

test('a pooler in session mode works with default settings, and statement timeouts apply', async () => {
  const database = await through('session');
  await inspectDatabase(database);
  const ledger = testLedger(database);
  const account = await fundedAccount(database, '5');
  const hold = await ledger.reserve(holdRequest(account, usd('3')));
  await ledger.settle(settlement(hold, usd('2')));
  await ledger.close();
  const { rows } = await database.money.query(
    `SELECT current_setting('lock_timeout') AS lock, current_setting('statement_timeout') AS statement`,
  );
  expect(rows).toEqual([{ lock: '1s', statement: '10s' }]);
  expect(await database.sequelize.query('SHOW statement_timeout')).toEqual(expect.anything());
  const named = /^tollgate-worker@.+:\d+$/;
  const askName = `SELECT current_setting('application_name') AS name`;
  const { rows: ofMoney } = await database.money.query(askName);
  const [ofReports] = await database.sequelize.query(askName);
  for (const names of [ofMoney, ofReports]) {
    expect(names).toEqual([{ name: expect.stringMatching(named) }]);
  }
  await database.close();
});
