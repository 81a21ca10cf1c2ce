import type { ChildProcess } from 'node:child_process';
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { migrateUp } from '../../../migrations/migrate.ts';
import { startEmbeddedPostgres } from '../../../ops/embedded/embedded-postgres.ts';
import { createDatabase } from '../../../src/store/database.ts';
import { fundedAccount, type TestAccount } from '../../factories/ledger.ts';
import { temporaryFolder } from '../../factories/temporary-folder.ts';
import { createTestDatabase, ledgerViolations } from '../../setup/database.ts';
import { startFaultProxy } from '../../setup/fault-proxy.ts';
import { audit, closeOrphans } from './auditor.ts';
import { end, startLedgerProcess } from './start-ledger-process.ts';

const PROCESSES = 3;
const PROCESS_KILLS = 20;
const POSTGRES_KILLS = 5;
const CLIENTS = 16;

let folder: string;

beforeEach(async () => {
  folder = temporaryFolder('ledger-crashes');
  // an unprivileged Postgres must be able to reach its files below this folder
  await chmod(folder, 0o711);
});

async function startUnderLoad(
  url: string,
  accounts: readonly TestAccount[],
  number: number,
): Promise<ChildProcess> {
  const child = await startLedgerProcess(url);
  child.send({ do: 'load', accounts, clients: CLIENTS, log: join(folder, `told-${number}.log`) });
  return child;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

test(`survives ${PROCESS_KILLS} kill -9s under load with 2 % of database replies lost: nothing lost, doubled or wrong`, async () => {
  const db = await createTestDatabase();
  const target = new URL(db.url);
  const proxy = await startFaultProxy({
    targetHost: target.hostname,
    targetPort: Number(target.port),
    cutReplyChance: 0.02,
  });
  const proxied = new URL(db.url);
  proxied.port = String(proxy.port);
  const accounts = await Promise.all(Array.from({ length: 20 }, () => fundedAccount(db.database, '1000')));

  let started = 0;
  const start = () => startUnderLoad(proxied.href, accounts, started++);
  const running = await Promise.all(Array.from({ length: PROCESSES }, start));
  const replace = async (place: number) => {
    await end(running[place]!);
    running[place] = await start();
  };
  for (let kill = 0; kill < PROCESS_KILLS; kill += 1) {
    await Promise.all([pause(150), replace(kill % PROCESSES)]);
  }
  await Promise.all(running.map((child) => end(child)));
  await closeOrphans(db.database);

  const report = await audit(db.database.money, folder);
  expect(report.wrong).toEqual([]);
  expect(report.told).toBeGreaterThan(200);
  expect(proxy.cuts()).toBeGreaterThan(50);
  await proxy.close();
  await db.close();
}, 180_000);

test(`keeps every charge reported to a client across ${POSTGRES_KILLS} kill -9s of Postgres under load`, async () => {
  const options = { dataDir: folder, durable: true, logFile: join(folder, 'postgres.log') };
  let postgres = await startEmbeddedPostgres(options);
  const applicationRole = decodeURIComponent(new URL(postgres.databaseUrl).username);
  await migrateUp({ ownerUrl: postgres.ownerUrl, applicationRole });
  const settings = { url: postgres.databaseUrl, moneyConnections: 4, connections: 1 };
  const database = createDatabase(settings, () => undefined);
  const accounts = await Promise.all(Array.from({ length: 20 }, () => fundedAccount(database, '1000')));

  const running = await Promise.all(
    Array.from({ length: PROCESSES }, (_, number) => startUnderLoad(postgres.databaseUrl, accounts, number)),
  );
  for (let kill = 0; kill < POSTGRES_KILLS; kill += 1) {
    await pause(500);
    process.kill(postgres.pid, 'SIGKILL');
    postgres = await startEmbeddedPostgres(options);
  }
  await pause(1_500);
  await Promise.all(running.map((child) => end(child)));
  await closeOrphans(database);

  const report = await audit(database.money, folder);
  expect(report.wrong).toEqual([]);
  expect(report.told).toBeGreaterThan(200);
  await database.close();
  const owner = new pg.Client({ connectionString: postgres.ownerUrl });
  await owner.connect();
  expect(await ledgerViolations(owner)).toEqual([]);
  await owner.end();
  await postgres.stop();
}, 180_000);
