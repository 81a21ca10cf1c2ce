import type { ChildProcess } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LedgerStore } from '../../../src/ledger/ledger.store.ts';
import { HoldReaper } from '../../../src/ledger/reaper.ts';
import { fundedAccount, silentLog, type TestAccount, testLedger } from '../../factories/ledger.ts';
import { createTestDatabase, type TestDatabase } from '../../setup/database.ts';
import { type FaultProxy, startFaultProxy } from '../../setup/fault-proxy.ts';
import type { ToldCharge } from './ledger-process.ts';
import { end, startLedgerProcess } from './start-ledger-process.ts';

const PROCESSES = 3;
const KILLS = 20;
const CLIENTS = 16;
const BETWEEN_KILLS_MS = 250;

let db: TestDatabase;
let proxy: FaultProxy;
let folder: string;
let accounts: TestAccount[];

beforeAll(async () => {
  db = await createTestDatabase();
  folder = await mkdtemp(join(tmpdir(), 'ledger-crashes-'));
  const target = new URL(db.url);
  proxy = await startFaultProxy({
    targetHost: target.hostname,
    targetPort: Number(target.port),
    cutReplyChance: 0.02,
  });
  accounts = await Promise.all(Array.from({ length: 20 }, () => fundedAccount(db.database, '1000')));
});

afterAll(async () => {
  await proxy.close();
  await rm(folder, { recursive: true, force: true });
  await db.close();
});

async function startUnderLoad(number: number): Promise<ChildProcess> {
  const url = new URL(db.url);
  url.port = String(proxy.port);
  const child = await startLedgerProcess(url.href);
  child.send({ do: 'load', accounts, clients: CLIENTS, log: join(folder, `told-${number}.log`) });
  return child;
}

async function told(processesStarted: number): Promise<ToldCharge[]> {
  const lines: ToldCharge[] = [];
  for (let number = 0; number < processesStarted; number += 1) {
    const text = await readFile(join(folder, `told-${number}.log`), 'utf8').catch(() => '');
    // the last line may be torn by the kill
    lines.push(
      ...text
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line) as ToldCharge),
    );
  }
  return lines;
}

/** Closes what the killed processes left behind, as if their leases had run out. */
async function closeOrphans(): Promise<void> {
  await db.database.money.query(`SELECT 1`);
  const { rows } = await db.database.money.query<{ id: string }>('SELECT id FROM holds');
  const store = new LedgerStore(db.database.money);
  const metered = {
    charge: { amount: 0n as never, lines: {} },
    usage: { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 },
  };
  await store.renew(
    rows.map(({ id }) => ({ id, metered })),
    -1,
  );
  const ledger = testLedger(db.database);
  await new HoldReaper(store, ledger, silentLog).reap();
  await ledger.close();
}

test(`${KILLS} kill -9s under load with 2 % of database replies lost: nothing lost, doubled or wrong`, async () => {
  let started = 0;
  const running = await Promise.all(Array.from({ length: PROCESSES }, () => startUnderLoad(started++)));
  for (let kill = 0; kill < KILLS; kill += 1) {
    await new Promise((resolve) => setTimeout(resolve, BETWEEN_KILLS_MS));
    const victim = kill % PROCESSES;
    await end(running[victim]!);
    running[victim] = await startUnderLoad(started++);
  }
  await Promise.all(running.map((child) => end(child)));
  await closeOrphans();

  const charges = await told(started);
  const { rows } = await db.database.money.query<{ id: string; account_id: string; charge: string }>(
    'SELECT id, account_id, charge FROM generations',
  );
  const booked = new Map(rows.map((row) => [row.id, row]));
  const wrong = charges.filter(({ id, accountId, charge }) => {
    const row = booked.get(id);
    return row?.charge !== charge || row.account_id !== accountId;
  });
  expect(wrong).toEqual([]);
  expect(charges.length).toBeGreaterThan(200);
  expect(proxy.cuts()).toBeGreaterThan(50);
  expect(await db.violations()).toEqual([]);
}, 180_000);
