import { expect } from '@jest/globals';
import pg from 'pg';
import { LedgerStore } from '../../src/ledger/ledger.store.ts';
import { ZERO_USD } from '../../src/lib/money.ts';
import { eventually } from '../factories/eventually.ts';
import { fundedAccount, holdRequest, settlement, testKey, usd } from '../factories/ledger.ts';
import type { Parts } from './parts.types.ts';

const ROUNDS = 6;
const ACCOUNTS = 8;

/**
 * Two batches deadlock only by chance, so the lock order is checked instead: a batch that waits for the lowest id must not have locked
 * any other account. A random order passes one round with a chance of one in eight, and all six with 1 in 260,000.
 */
export async function locksInOrder(parts: Parts): Promise<void> {
  const accounts = await Promise.all(
    Array.from({ length: ACCOUNTS }, () => fundedAccount(parts.db.database, '5')),
  );
  const ids = accounts.map(({ accountId }) => accountId).sort();
  await withStalledStore(parts, async (store, stall) => {
    const expectLowestFirst = async (send: () => Promise<unknown>): Promise<void> => {
      await stall.begin('SELECT 1 FROM balances WHERE account_id = $1 FOR UPDATE', [ids[0]]);
      const sent = send();
      await stall.waitedFor();
      const free = await stall.witness.query(
        'SELECT account_id FROM balances WHERE account_id = ANY ($1) ORDER BY 1 FOR UPDATE SKIP LOCKED',
        [ids],
      );
      await stall.end();
      await sent;
      expect(free.rows.map((row) => row.account_id)).toEqual(ids.slice(1));
    };
    for (let round = 0; round < ROUNDS; round += 1) {
      const holds = accounts.map((account) => holdRequest(account, usd('0.01')));
      const settlements = holds.map((hold) => ({
        settlement: settlement(hold, usd('0.01')),
        onlyExpired: false,
      }));
      await expectLowestFirst(() => store.reserve(holds, 60_000));
      await expectLowestFirst(() => store.settle(settlements));
    }
  });
}

/** A hold that is decided while the previous one has not committed waits for it, and then sees it. */
export async function holdsInTurn(parts: Parts): Promise<void> {
  const account = await fundedAccount(parts.db.database, '5');
  // with the same key, the second would also wait for the first at the key, and find the balance as it is by then
  const other = { ...account, apiKeyId: await testKey(parts.db.database, account.accountId) };
  const [first, second] = [holdRequest(account, usd('5')), holdRequest(other, usd('5'))];
  await withStalledStore(parts, async (store, stall) => {
    await stall.begin('SELECT 1');
    await new LedgerStore(stall.holder as never).reserve([first], 60_000);
    const decided = store.reserve([second], 60_000);
    await stall.waitedFor();
    await stall.end();
    expect(await decided).toEqual([{ outcome: 'insufficient_credits', granted: null }]);
    const released = settlement(first, ZERO_USD, { status: 'failed' });
    await store.settle([{ settlement: released, onlyExpired: false }]);
  });
}

interface Stall {
  readonly holder: pg.Client;
  readonly witness: pg.Client;
  begin(statement: string, values?: unknown[]): Promise<void>;
  /** Resolves when somebody waits for a lock of the holder. */
  waitedFor(): Promise<void>;
  end(): Promise<void>;
}

/**
 * Runs `use` with a store that waits for locks as long as it takes, and a transaction for it to wait for, both as the owner of the
 * schema.
 */
async function withStalledStore(
  { db, createStore }: Parts,
  use: (store: LedgerStore, stall: Stall) => Promise<void>,
): Promise<void> {
  const money = new pg.Pool({ connectionString: db.ownerUrl });
  const [holder, witness] = [1, 2].map(() => new pg.Client({ connectionString: db.ownerUrl }));
  try {
    await Promise.all([holder!.connect(), witness!.connect()]);
    await use(createStore({ ...db.database, money }), stallOf(holder!, witness!));
  } finally {
    await Promise.all([holder!.end(), witness!.end()]);
    await money.end();
  }
}

function stallOf(holder: pg.Client, witness: pg.Client): Stall {
  return {
    holder,
    witness,
    begin: async (statement, values = []) => {
      await holder.query('BEGIN');
      await holder.query(statement, values);
    },
    waitedFor: async () => {
      const { rows } = await holder.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
      await eventually(async () => {
        const waiting = await witness.query(
          'SELECT 1 FROM pg_locks WHERE NOT granted AND $1 = ANY (pg_blocking_pids(pid))',
          [rows[0]!.pid],
        );
        return waiting.rows.length > 0;
      });
    },
    end: async () => void (await holder.query('COMMIT')),
  };
}
