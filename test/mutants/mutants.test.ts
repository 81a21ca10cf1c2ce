import pg from 'pg';
import { chargeFor } from '../../src/catalog/pricing.ts';
import { LedgerStore } from '../../src/ledger/ledger.store.ts';
import { createTestDatabase, type TestDatabase } from '../setup/database.ts';
import { GAUNTLET } from './gauntlet.ts';
import { MUTANTS, type Mutant } from './mutants.ts';
import type { Parts } from './parts.types.ts';

async function mutate(db: TestDatabase, mutant: Pick<Mutant, 'sql' | 'edits'>): Promise<void> {
  const owner = new pg.Client({ connectionString: db.ownerUrl });
  await owner.connect();
  try {
    for (const statement of mutant.sql ?? []) {
      await owner.query(statement);
    }
    for (const edit of mutant.edits ?? []) {
      const { rows } = await owner.query<{ definition: string }>(
        'SELECT pg_get_functiondef(oid) AS definition FROM pg_proc WHERE proname = $1',
        [edit.of],
      );
      const definition = rows[0]!.definition;
      // a mutant that changes nothing would be caught for the wrong reason, or never
      expect(definition).toContain(edit.replace);
      await owner.query(definition.replace(edit.replace, edit.by));
    }
  } finally {
    await owner.end();
  }
}

async function partsOf(mutant: Pick<Mutant, 'sql' | 'edits' | 'parts'>): Promise<Parts> {
  const db = await createTestDatabase();
  await mutate(db, mutant);
  return { db, chargeFor, createStore: (database) => new LedgerStore(database.money), ...mutant.parts };
}

test('passes the gauntlet with the real ledger', async () => {
  const parts = await partsOf({});
  for (const scenario of GAUNTLET) {
    await scenario.run(parts);
  }
  await parts.db.discard();
});

test.each(MUTANTS.map((mutant) => [mutant.name, mutant] as const))('catches: %s', async (_, mutant) => {
  const scenario = GAUNTLET.find(({ name }) => name === mutant.caughtBy);
  const parts = await partsOf(mutant);
  await expect(scenario?.run(parts)).rejects.toThrow();
  await parts.db.discard();
});
