import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../ops/embedded/embedded-postgres.ts';
import { choosePort } from '../../ops/embedded/free-port.ts';
import { createDatabase, type Database } from '../../src/store/database.ts';
import { DatabaseWatch } from '../../src/store/database-watch.ts';
import { inspectDatabase } from '../../src/store/inspect-database.ts';
import { readRows } from '../../src/store/report.ts';
import { run } from '../../src/store/statement.ts';
import { eventually } from '../factories/eventually.ts';
import { temporaryFolder } from '../factories/temporary-folder.ts';
import { startFaultProxy } from '../setup/fault-proxy.ts';
import { type MovingAddress, startMovingAddress } from '../setup/moving-address.ts';
import { guardServices } from '../setup/test-services.ts';

/** The limit promised to operators. */
const NORMAL_WITHIN_MS = 15_000;
const value = { name: 'failover_value', text: 'SELECT value FROM failover' };

let folder: string;
let release: () => Promise<void>;
let first: EmbeddedPostgres;
let second: EmbeddedPostgres;
let address: MovingAddress | undefined;

const start = (name: string) =>
  startEmbeddedPostgres({
    dataDir: join(folder, name),
    durable: false,
    logFile: join(folder, `${name}.log`),
  });

/** Starts two servers with the same database. The value tells which one answered: the second is a standby that lags behind. */
beforeAll(async () => {
  folder = temporaryFolder('failover');
  // the servers run as another user when the tests run as root
  chmodSync(folder, 0o711);
  release = guardServices(folder);
  mkdirSync(join(folder, 'first'));
  first = await start('first');
  await asOwner(first, 'CREATE TABLE failover (value text)', "INSERT INTO failover VALUES ('first')");
  await asOwner(first, `GRANT ALL ON failover TO "${new URL(first.databaseUrl).username}"`);
  await first.stop();
  execFileSync('cp', ['-a', join(folder, 'first'), join(folder, 'second')]);
  const connection = JSON.parse(readFileSync(join(folder, 'second', 'postgres.json'), 'utf8'));
  writeFileSync(
    join(folder, 'second', 'postgres.json'),
    JSON.stringify({ ...connection, port: await choosePort() }),
  );
  first = await start('first');
  second = await startStandby('second');
  await asOwner(first, "UPDATE failover SET value = 'primary'");
  address = await startMovingAddress(first.port);
});
afterAll(async () => {
  await address?.close();
  await release?.();
});

/** Starts a standby without a primary. It serves reads of the data that it has. */
async function startStandby(name: string): Promise<EmbeddedPostgres> {
  writeFileSync(join(folder, name, 'postgres', 'standby.signal'), '');
  return await start(name);
}

async function asOwner(server: EmbeddedPostgres, ...statements: string[]): Promise<void> {
  const client = new pg.Client({ connectionString: server.ownerUrl });
  await client.connect();
  for (const statement of statements) {
    await client.query(statement);
  }
  await client.end();
}

const urlOf = (port: number) => {
  const url = new URL(first.databaseUrl);
  url.port = String(port);
  return url.href;
};

const open = (url: string) => createDatabase({ url, moneyConnections: 4, connections: 4 }, () => undefined);

/** Reads steadily from both pools, as a console does, and records what was read and when. Failures are ignored. */
function readSteadily(database: Database): {
  readonly seen: { at: number; value: string }[];
  stop(): Promise<void>;
} {
  const seen: { at: number; value: string }[] = [];
  let stopped = false;
  const readers = Array.from({ length: 6 }, async (_, reader) => {
    while (!stopped) {
      const rows = await (reader % 2 === 0
        ? readRows<{ value: string }>(database.sequelize, value, [])
        : run<{ value: string }>(database.money, value, [])
      ).catch(() => []);
      seen.push(...rows.map((row) => ({ at: performance.now(), value: row.value })));
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  });
  return {
    seen,
    stop: async () => {
      stopped = true;
      await Promise.all(readers);
    },
  };
}

test('rejects a standby at any position among the addresses', async () => {
  const standby = open(urlOf(second.port));
  await expect(readRows(standby.sequelize, value, [])).rejects.toThrow('standby');
  await expect(run(standby.money, value, [])).rejects.toThrow('standby');
  await standby.close();
  const several = new URL(first.databaseUrl);
  const database = open(
    several.href.replace(several.host, `127.0.0.1:${second.port},127.0.0.1:${first.port}`),
  );
  await inspectDatabase(database);
  expect(await readRows(database.sequelize, value, [])).toEqual([{ value: 'primary' }]);
  expect(await run(database.money, value, [])).toEqual([{ value: 'primary' }]);
  await database.close();
});

test('a connection that breaks during its check causes an error for the caller but does not end the process', async () => {
  const proxy = await startFaultProxy({ targetHost: '127.0.0.1', targetPort: first.port, cutReplyChance: 1 });
  const database = open(urlOf(proxy.port));
  await expect(run(database.money, value, [])).rejects.toThrow('Connection terminated');
  await expect(readRows(database.sequelize, value, [])).rejects.toThrow(/Connection t/);
  await database.close();
  await proxy.close();
});

test('after a failover no reader still gets data from the former primary, however steadily it reads', async () => {
  const database = open(urlOf(address!.port));
  const watch = new DatabaseWatch(database, () => undefined);
  await watch.start();
  const readers = readSteadily(database);
  await eventually(async () => readers.seen.length > 20);
  expect(watch.state).toMatchObject({ writable: true, pools: true });

  await first.stop();
  await asOwner(second, 'SELECT pg_promote()', "UPDATE failover SET value = 'promoted'");
  first = await startStandby('first');
  const movedAt = performance.now();
  address!.move(second.port);
  const write = () => database.sequelize.query("UPDATE failover SET value = 'written'");
  await eventually(write, NORMAL_WITHIN_MS, 'a write');
  const writtenAt = performance.now();
  await eventually(
    async () => readers.seen.at(-1)?.value === 'written' && watch.state.pools,
    NORMAL_WITHIN_MS,
  );
  expect(performance.now() - movedAt).toBeLessThan(NORMAL_WITHIN_MS);
  await readers.stop();
  expect(readers.seen.filter(({ at, value: read }) => at > writtenAt + 50 && read !== 'written')).toEqual([]);
  expect(readers.seen.filter(({ at, value: read }) => at > movedAt && read === 'primary')).toEqual([]);
  await watch.close();
  await database.close();
});

test('follows an address that moves away from a server that stays up', async () => {
  const database = open(urlOf(address!.port));
  const watch = new DatabaseWatch(database, () => undefined);
  await watch.start();
  const readers = readSteadily(database);
  await eventually(async () => readers.seen.length > 20);
  await asOwner(first, 'SELECT pg_promote()', "UPDATE failover SET value = 'moved to'");
  const movedAt = performance.now();
  address!.move(first.port);
  await eventually(
    async () => readers.seen.slice(-20).every((read) => read.value === 'moved to'),
    NORMAL_WITHIN_MS,
  );
  expect(performance.now() - movedAt).toBeLessThan(NORMAL_WITHIN_MS);
  await readers.stop();
  await watch.close();
  await database.close();
});
