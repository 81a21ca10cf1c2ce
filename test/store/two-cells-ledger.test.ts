import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { migrateUp } from '../../migrations/migrate.ts';
import { startEmbeddedPostgres } from '../../ops/embedded/embedded-postgres.ts';
import { PostgresLedger } from '../../src/ledger/ledger.engine.ts';
import { LedgerStore } from '../../src/ledger/ledger.store.ts';
import { AppError } from '../../src/lib/errors.ts';
import { ZERO_USD } from '../../src/lib/money.ts';
import { eventually } from '../factories/eventually.ts';
import {
  fundedAccount,
  holdRequest,
  settlement,
  silentLog,
  silentObserver,
  usd,
} from '../factories/ledger.ts';
import { temporaryFolder } from '../factories/temporary-folder.ts';
import { createTwoCells, type TestCell, type TwoCells } from '../factories/two-cells.ts';
import { guardServices } from '../setup/test-services.ts';

/** Two cells on one Postgres, each with a ledger of its own: a failure in one must not affect the other. */

const HOLDS_AT_ONCE = 300;
const CLIENTS = 8;
const TOLD_LEAST = 100;

function ledgerOf({ database }: TestCell): PostgresLedger {
  return new PostgresLedger(new LedgerStore(database.money), silentLog, silentObserver, 1);
}

/** Opens a ledger for a cell and an account with credits in it. */
async function openUsed(cell: TestCell, credits: string) {
  return { cell, ledger: ledgerOf(cell), account: await fundedAccount(cell.database, credits) };
}
type Used = Awaited<ReturnType<typeof openUsed>>;

/** Makes a complete call that costs one cent. Returns the id of its hold and the charge. */
async function call({ ledger, account }: Used): Promise<readonly [string, string]> {
  const hold = await ledger.reserve(holdRequest(account, usd('0.01')));
  const { charge } = await ledger.settle(settlement(hold, usd('0.01')));
  return [hold.id, charge.toString()];
}

describe('on one server', () => {
  let two: TwoCells;
  let first: Used;
  let second: Used;

  beforeAll(async () => {
    two = await createTwoCells();
    first = await openUsed(two.both[0], '5');
    second = await openUsed(two.both[1], '5');
  });

  afterEach(async () => {
    for (const cell of two?.both ?? []) {
      expect(await cell.violations()).toEqual([]);
    }
  });

  afterAll(async () => {
    await Promise.all([first?.ledger.close(), second?.ledger.close()]);
    await two?.close();
  });

  test(`${HOLDS_AT_ONCE} simultaneous holds in each cell hold exactly the available credits`, async () => {
    const holdAll = async ({ ledger, account }: Used) => {
      const requests = Array.from({ length: HOLDS_AT_ONCE }, () => holdRequest(account, usd('0.10')));
      const outcomes = await Promise.allSettled(requests.map((request) => ledger.reserve(request)));
      const held = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
      await Promise.all(held.map((hold) => ledger.settle(settlement(hold, ZERO_USD, { status: 'failed' }))));
      return held.length;
    };
    expect(await Promise.all([first, second].map(holdAll))).toEqual([50, 50]);
  });

  test.each([
    ['locked', ['BEGIN', 'LOCK TABLE balances IN ACCESS EXCLUSIVE MODE'], ['ROLLBACK']],
    ['gone', ['ALTER SCHEMA cell_1 RENAME TO gone'], ['ALTER SCHEMA gone RENAME TO cell_1']],
  ])(
    'while a cell is %s, accounts of the other are served, and no data of the cell is lost',
    async (_, leave, comeBack) => {
      const hold = await second.ledger.reserve(holdRequest(second.account, usd('1')));
      const settled = await second.cell.asOwner(async (owner) => {
        for (const statement of leave) {
          await owner.query(statement);
        }
        const settling = second.ledger.settle(settlement(hold, usd('0.25')));
        const refused = second.ledger.reserve(holdRequest(second.account, usd('0.01')));
        const refusal = expect(refused).rejects.toMatchObject({ code: 'service_unavailable' });
        for (let calls = 0; calls < 20; calls += 1) {
          await call(first);
        }
        await refusal;
        for (const statement of comeBack) {
          await owner.query(statement);
        }
        return await settling;
      });
      expect(settled).toMatchObject({ outcome: 'settled', charge: usd('0.25') });
      await eventually(async () => (await call(second)).length > 0);
    },
  );
});

/**
 * Makes calls in all cells while `disturb` runs and until each cell has served more of them. Returns the charges reported to clients,
 * by call.
 */
async function callThroughout(all: readonly Used[], disturb: () => Promise<void>) {
  const told = all.map(() => new Map<string, string>());
  let isOver = false;
  const client = async (used: Used, charges: Map<string, string>) => {
    while (!isOver) {
      try {
        charges.set(...(await call(used)));
      } catch (error) {
        if (!(error instanceof AppError)) {
          throw error;
        }
        await pause(20);
      }
    }
  };
  const toldMore = async () => {
    const before = told.map(({ size }) => size);
    const isMore = () => told.every(({ size }, index) => size > before[index]! + TOLD_LEAST);
    await eventually(() => Promise.resolve(isMore()), 30_000, 'calls in each cell');
  };
  const clients = all.flatMap((used, index) =>
    Array.from({ length: CLIENTS }, () => client(used, told[index]!)),
  );
  await toldMore();
  await disturb();
  await toldMore();
  isOver = true;
  await Promise.all(clients);
  return told;
}

test('after kill -9 of Postgres during calls in both cells, every reported charge is in its cell once', async () => {
  const folder = temporaryFolder('two-cells');
  // the server runs as another user when the tests run as root
  chmodSync(folder, 0o711);
  const release = guardServices(folder);
  const options = { dataDir: folder, durable: true, logFile: join(folder, 'postgres.log') };
  const { databaseUrl: url, ownerUrl, pid } = await startEmbeddedPostgres(options);
  await migrateUp({ ownerUrl, applicationRole: decodeURIComponent(new URL(url).username) });
  const two = await createTwoCells({ url, ownerUrl, discard: release });
  const all = await Promise.all(two.both.map((cell) => openUsed(cell, '1000')));
  const told = await callThroughout(all, async () => {
    process.kill(pid, 'SIGKILL');
    await startEmbeddedPostgres(options);
  });
  for (const [index, { cell, ledger }] of all.entries()) {
    const { rows } = await cell.database.money.query<{ id: string; booked: string }>(
      `SELECT g.id, g.charge || ' ' || (SELECT count(*) FROM ledger_entries e WHERE e.reference = g.id) AS booked FROM generations g`,
    );
    const booked = new Map(rows.map((row) => [row.id, row.booked]));
    const wrong = [...told[index]!].filter(([id, charge]) => booked.get(id) !== `${charge} 1`);
    expect(wrong).toEqual([]);
    expect(await cell.violations()).toEqual([]);
    await ledger.close();
  }
  await two.close();
});
