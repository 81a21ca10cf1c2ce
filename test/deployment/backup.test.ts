import { execFile } from 'node:child_process';
import { readdir, readFile, rename, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { migrateUp } from '../../migrations/migrate.ts';
import { LedgerVerifier } from '../../src/ledger/ledger-verifier.ts';
import { createDatabase } from '../../src/store/database.ts';
import { fundedAccount, holdRequest, settlement, testLedger, usd } from '../factories/ledger.ts';
import { temporaryFolder } from '../factories/temporary-folder.ts';
import { PACKAGES_TIMEOUT_MS } from '../setup/debian-packages.ts';
import { ROOT } from './compose-file.ts';
import { findPostgres, type InstalledPostgres, startInstalledPostgres } from './installed-postgres.ts';

const run = promisify(execFile);

// The embedded server has no pg_dump, so this drill uses Debian's.
describe('backup, wipe, restore', () => {
  let postgres: InstalledPostgres;
  let folder: string;

  beforeAll(async () => {
    folder = temporaryFolder('backup');
    postgres = await startInstalledPostgres(await findPostgres(process.env));
    await migrate();
  }, PACKAGES_TIMEOUT_MS);

  afterAll(async () => {
    await postgres?.stop();
  });

  const migrate = () =>
    migrateUp({
      ownerUrl: postgres.ownerUrl,
      applicationRole: 'tollgate_app',
      scalerRole: 'tollgate_scaler',
    });

  const script = (name: string, ...args: string[]) =>
    scriptWith({ DATABASE_OWNER_URL: postgres.ownerUrl }, name, ...args);

  function scriptWith(urls: Readonly<Record<string, string>>, name: string, ...args: string[]) {
    const { folder: programs, environment } = postgres.programs;
    return run(join(ROOT, 'ops/backup', name), args, {
      env: { ...environment, PATH: `${programs}:${process.env.PATH}`, ...urls },
    });
  }

  async function query(text: string, role = 'tollgate_owner:owner'): Promise<unknown[]> {
    const client = new pg.Client({
      connectionString: postgres.ownerUrl.replace('tollgate_owner:owner', role),
    });
    await client.connect();
    try {
      return (await client.query(text)).rows;
    } finally {
      await client.end();
    }
  }

  const balances = () =>
    query('SELECT account_id, posted, held, used, debt, seq FROM balances ORDER BY account_id');
  const entries = () => query('SELECT count(*), sum(amount) FROM ledger_entries');

  /** Charges `calls` calls to each of two new accounts and leaves one call of each open, as the application role. */
  async function trade(calls: number): Promise<void> {
    await connected(async (database) => {
      const ledger = testLedger(database);
      for (const account of [await fundedAccount(database, '5.00'), await fundedAccount(database, '0.75')]) {
        const holds = Array.from({ length: calls + 1 }, () => holdRequest(account, usd('0.001')));
        const [open, ...done] = await Promise.all(holds.map((request) => ledger.reserve(request)));
        expect(open).toBeDefined();
        await Promise.all(done.map((hold) => ledger.settle(settlement(hold, usd('0.0004')))));
      }
      await ledger.close();
    });
  }

  async function connected<T>(work: (database: ReturnType<typeof createDatabase>) => Promise<T>): Promise<T> {
    const settings = { url: postgres.applicationUrl, moneyConnections: 4, connections: 2 };
    const database = createDatabase(settings, () => undefined);
    try {
      return await work(database);
    } finally {
      await database.close();
    }
  }

  test('restores every balance, every entry and the rights, and nothing from after the backup', async () => {
    await trade(200);
    // a superuser's, for monitoring: the owner can create neither
    await query('CREATE EXTENSION pg_stat_statements; CREATE SCHEMA monitoring', 'postgres');
    await query('CREATE EXTENSION pgrowlocks SCHEMA monitoring', 'postgres');
    const before = [await balances(), await entries()];
    expect((await script('backup.sh', folder)).stdout).toContain('2 accounts');
    expect(await query('SELECT bytes > 1000 AS is_there FROM backups')).toEqual([{ is_there: true }]);
    const dump = join(folder, (await readdir(folder)).find((name) => name.endsWith('.dump'))!);
    await trade(20);
    expect(await balances()).toHaveLength(4);

    await expect(script('restore.sh', dump)).rejects.toThrow('the database is not empty');
    await connected(async (database) => {
      await database.money.query('SELECT 1');
      await expect(script('restore.sh', '--wipe', dump)).rejects.toThrow('1 other connections are open');
    });
    const { stdout } = await script('restore.sh', '--wipe', dump);
    expect(stdout).toContain('2 accounts, every balance as in the backup');
    expect(stdout).toContain('dropped with the old content: the extensions pg_stat_statements;');

    expect([await balances(), await entries()]).toEqual(before);
    expect(await migrate()).toEqual([]);
    await connected(async ({ money }) => {
      expect(await new LedgerVerifier(money).verify()).toMatchObject({ ok: true, violations: [] });
      await expect(money.query('UPDATE balances SET posted = posted + 1')).rejects.toThrow(
        'permission denied',
      );
    });
    await trade(5);
    expect(await balances()).toHaveLength(4);
  });

  test('the nightly job deletes backups that are too old, but never the newest', async () => {
    const nightly = join(folder, 'nightly');
    await script('nightly.sh', nightly, '30');
    const [first] = (await readdir(nightly)).filter((name) => name.endsWith('.dump'));
    const old = new Date(Date.now() - 40 * 86_400_000);
    for (const end of ['.dump', '.balances.csv']) {
      const path = join(nightly, `tollgate-20200101T000000Z${end}`);
      await rename(join(nightly, first!.replace('.dump', end)), path);
      await utimes(path, old, old);
    }
    await script('nightly.sh', nightly, '30');
    const kept = await readdir(nightly);
    expect(kept.filter((name) => name.endsWith('.dump'))).toHaveLength(1);
    expect(kept.join()).not.toContain('20200101');
  });

  test('a drill restores the newest backup into the drill database only', async () => {
    await postgres.createDatabase('tollgate_drill');
    const before = await balances();
    const dumps = join(folder, 'nightly');
    const drill = (database: string) =>
      scriptWith({ DATABASE_DRILL_URL: postgres.ownerUrl.replace(/tollgate$/, database) }, 'drill.sh', dumps);
    const { stdout } = await drill('tollgate_drill');
    expect(stdout).toContain(`${before.length} accounts, every balance as in the backup`);
    // the drill database is empty again, so that the next drill can begin
    expect((await drill('tollgate_drill')).stdout).toBe(stdout);

    await expect(drill('tollgate')).rejects.toThrow('the name of tollgate does not end in _drill');
    expect(await balances()).toEqual(before);
    const [newest] = (await readdir(dumps)).filter((name) => name.endsWith('.dump'));
    const [csv, kept] = [join(dumps, newest!.replace('.dump', '.balances.csv')), join(folder, 'kept.csv')];
    await rename(csv, kept);
    await writeFile(csv, (await readFile(kept, 'utf8')).replace(/,(\d)/, ',9$1'));
    await expect(drill('tollgate_drill')).rejects.toThrow('the balances differ from those of the backup');
    await rename(kept, csv);
    const old = new Date(Date.now() - 40 * 3_600_000);
    await utimes(join(dumps, newest!), old, old);
    await expect(drill('tollgate_drill')).rejects.toThrow('is older than 36 hours');
  });

  test('restores and drills as an owner that may not replace the schema public, and keeps extensions', async () => {
    const before = [await balances(), await entries()];
    const dumps = join(folder, 'managed');
    await script('backup.sh', dumps);
    const [dump = ''] = (await readdir(dumps)).filter((name) => name.endsWith('.dump'));
    // as in Postgres 14 and on managed servers
    const asManaged = `ALTER SCHEMA public OWNER TO postgres; GRANT CREATE, USAGE ON SCHEMA public TO tollgate_owner;
      CREATE EXTENSION pg_stat_statements`;
    await query(asManaged, 'postgres');
    await trade(2);
    const { stdout } = await script('restore.sh', '--wipe', join(dumps, dump));
    expect(stdout).toContain('every balance as in the backup');
    expect(stdout).not.toContain('dropped');
    expect([await balances(), await entries()]).toEqual(before);
    expect(await migrate()).toEqual([]);
    expect(await query('SELECT 1 AS kept FROM pg_stat_statements LIMIT 0', 'postgres')).toEqual([]);
    await trade(2);

    const url = postgres.ownerUrl.replace(/tollgate$/, 'managed_drill');
    await postgres.createDatabase('managed_drill');
    const superuser = new pg.Client({ connectionString: url.replace('tollgate_owner:owner', 'postgres') });
    await superuser.connect();
    await superuser.query(asManaged);
    await superuser.end();
    for (const drill of [1, 2]) {
      const { stdout: told } = await scriptWith({ DATABASE_DRILL_URL: url }, 'drill.sh', dumps);
      expect([drill, told]).toEqual([drill, expect.stringContaining('every balance as in the backup')]);
    }
  });

  test('a restore that fails leaves the database as it was', async () => {
    const before = await balances();
    const dump = join(folder, 'broken.dump');
    await run('sh', [
      '-c',
      `f=$(ls ${folder}/tollgate-*.dump); head -c 20000 "$f" > ${dump}; cp "\${f%.dump}.balances.csv" ${folder}/broken.balances.csv`,
    ]);
    await expect(script('restore.sh', '--wipe', dump)).rejects.toThrow();
    expect(await balances()).toEqual(before);
  });
});
