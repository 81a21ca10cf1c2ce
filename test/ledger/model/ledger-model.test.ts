import fc from 'fast-check';
import type { PostgresLedger } from '../../../src/ledger/ledger.engine.ts';
import { LedgerVerifier } from '../../../src/ledger/ledger-verifier.ts';
import { createDatabase, type Database } from '../../../src/store/database.ts';
import { testLedger } from '../../factories/ledger.ts';
import { createTestDatabase, type TestDatabase } from '../../setup/database.ts';
import { ledgerStory } from './ledger-commands.ts';
import { StoryRunner } from './story-runner.ts';

const SHARDS = 4;
const STORIES = 1_000;

interface Shard {
  readonly db: TestDatabase;
  /** One connection: the clock is set per session. */
  readonly database: Database;
  readonly ledger: PostgresLedger;
}

let shards: Shard[];

beforeAll(async () => {
  shards = await Promise.all(
    Array.from({ length: SHARDS }, async () => {
      const db = await createTestDatabase();
      const database = createDatabase({ url: db.url, moneyConnections: 1, connections: 1 }, () => undefined);
      return { db, database, ledger: testLedger(database) };
    }),
  );
});

afterAll(async () => {
  for (const shard of shards) {
    await shard.ledger.close();
    await shard.database.close();
    await shard.db.close();
  }
});

async function tellStories(shard: Shard, seed: number): Promise<void> {
  const verifier = new LedgerVerifier(shard.database.money);
  await fc.assert(
    fc.asyncProperty(ledgerStory, async (story) => {
      const teller = await StoryRunner.begin(shard.database, shard.ledger);
      for (const command of story) {
        await teller.tell(command);
      }
      await teller.end();
      expect((await verifier.verify(teller.accountId)).violations).toEqual([]);
    }),
    { numRuns: STORIES / SHARDS, seed, interruptAfterTimeLimit: 500_000, markInterruptAsFailure: true },
  );
}

test(`keeps the ledger and a model of plain bigints equal after every command of ${STORIES} stories of 50 commands`, async () => {
  const seed = Number(process.env.LEDGER_MODEL_SEED ?? Math.floor(Math.random() * 2 ** 31));
  await Promise.all(shards.map((shard, index) => tellStories(shard, seed + index)));
}, 540_000);
