import type pg from 'pg';
import { CheckoutStore } from '../../src/billing/checkout.store.ts';
import { CreditsReadModel } from '../../src/credits/credits.read-model.ts';
import { GenerationsReadModel } from '../../src/generations/generations.read-model.ts';
import { KeysStore } from '../../src/keys/keys.store.ts';
import { LedgerStore } from '../../src/ledger/ledger.store.ts';
import { Movements } from '../../src/ledger/movements.ts';
import { newOwnedUuid, newUuid, publicId } from '../../src/lib/ids.ts';
import { byCell, oneCell } from '../../src/store/cells.ts';
import { createKey } from '../factories/api-key.ts';
import { holdRequest, settlement, usd } from '../factories/ledger.ts';
import { createTwoCells, type TestCell, type TwoCells } from '../factories/two-cells.ts';
import { namedStatements } from './named-statements.ts';

/** A cell is a schema. Code that works on a cell never names its schema and leaves the other cell unchanged. */

let two: TwoCells;

beforeAll(async () => {
  two = await createTwoCells();
});

afterAll(async () => {
  await two?.close();
});

/** Returns an id that belongs to the first or the second cell. */
function idIn(cell: 0 | 1): string {
  return newUuid().slice(0, -1) + String(cell);
}

async function openAccount(accountId: string) {
  const movements = new Movements((id) => two.cells.of(id).money);
  await movements.openAccount(accountId, 'Acme');
  const key = await createKey(two.cells.of(accountId), accountId);
  return { accountId, apiKeyId: key.id, hash: key.hash, movements };
}

async function purchase(accountId: string): Promise<string> {
  const sessions = new CheckoutStore(two.cells);
  const id = newOwnedUuid(accountId);
  await sessions.insert({
    ...{ id, accountId, amount: usd('5.00'), currency: 'usd', provider: 'stripe' },
    ...{ successUrl: 'http://shop.test/ok', cancelUrl: 'http://shop.test/no' },
    expiresAt: new Date(Date.now() + 3_600_000),
  });
  const movements = new Movements((account) => two.cells.of(account).money);
  expect(await movements.creditCheckout(accountId, id, `pi_${id}`, 'Purchase of credits')).toBe(true);
  return id;
}

/** Returns the schemas whose relations Postgres would touch for a statement with any parameters. */
async function schemasOf(client: pg.Client, text: string): Promise<Set<string>> {
  await client.query(`PREPARE asked AS ${text}`);
  try {
    const { rows } = await client.query<{ count: number }>(
      `SELECT coalesce(cardinality(parameter_types), 0) AS count FROM pg_prepared_statements WHERE name = 'asked'`,
    );
    const values = Array.from({ length: rows[0]?.count ?? 0 }, () => 'NULL').join(', ');
    const plan = await client.query<{ 'QUERY PLAN': unknown }>(
      `EXPLAIN (VERBOSE, FORMAT JSON) EXECUTE asked${values && `(${values})`}`,
    );
    return new Set(JSON.stringify(plan.rows).match(/(?<="Schema":")\w+/g));
  } finally {
    await client.query('DEALLOCATE asked');
  }
}

test.each([0, 1])('every named statement stays in the schema of its connection: cell %i', async (cell) => {
  const { schema, asOwner } = two.both[cell] as TestCell;
  const statements = await namedStatements();
  const strays = await asOwner(async (client) => {
    // a generic plan includes every table, whatever the parameters
    await client.query(`SET plan_cache_mode = force_generic_plan`);
    const found: string[] = [];
    for (const { name, text } of statements) {
      const schemas = await schemasOf(client, text).catch((error: Error) => new Set([error.message]));
      schemas.delete(schema);
      schemas.delete('pg_catalog');
      found.push(...[...schemas].map((stray) => `${name}: ${stray}`));
    }
    return found;
  });
  expect(strays).toEqual([]);
});

test.each([0, 1])('functions stay in the schema that they were created in: cell %i', async (cell) => {
  const { schema, asOwner } = two.both[cell] as TestCell;
  const { rows } = await asOwner((client) =>
    client.query<{ settings: string }>(
      `SELECT DISTINCT setting AS settings FROM pg_proc, unnest(proconfig) setting
        WHERE pronamespace = $1::regnamespace AND setting LIKE 'search_path=%'`,
      [schema],
    ),
  );
  expect(rows).toEqual([{ settings: `search_path=${schema}, pg_temp` }]);
});

/** These are called with the row of a variable or with one made by ROW(…). The last two serve processes of the previous release. */
const TAKE_ROWS = [
  'audit_digest',
  'entry_digest',
  'payment_step_reference',
  'state_month',
  'budget_base',
  'budget_free',
];

test('functions take columns, not table rows, whose type differs between several databases', async () => {
  const { rows } = await two.both[0].asOwner((client) =>
    client.query<{ name: string }>(
      `SELECT DISTINCT p.proname AS name FROM pg_proc p, unnest(p.proargtypes) argument
         JOIN pg_type t ON t.oid = argument JOIN pg_class c ON c.oid = t.typrelid AND c.relkind IN ('r', 'p')
        WHERE p.pronamespace = 'cell_0'::regnamespace`,
    ),
  );
  expect(rows.map(({ name }) => name).toSorted()).toEqual(TAKE_ROWS.toSorted());
});

test.each([0, 1] as const)('a booking in cell %i leaves the other cell unchanged', async (cell) => {
  const [own, other] = [two.both[cell], two.both[1 - cell] as TestCell];
  const [ownBefore, otherBefore] = [await own.contents(), await other.contents()];
  const account = await openAccount(idIn(cell));
  await purchase(account.accountId);
  const ledger = new LedgerStore(two.cells.of(account.accountId).money);
  const hold = holdRequest(account, usd('2.00'));
  expect((await ledger.reserve([hold], 60_000))[0]?.outcome).toBe('held');
  const settled = settlement({ ...account, id: hold.id }, usd('1.50'));
  expect((await ledger.settle([{ settlement: settled, onlyExpired: false }]))[0]?.outcome).toBe('settled');
  expect(await other.contents()).toEqual(otherBefore);
  const ownAfter = await own.contents();
  const changed = [...ownAfter.keys()].filter((table) => ownAfter.get(table) !== ownBefore.get(table));
  expect(changed).toEqual(
    expect.arrayContaining(['accounts', 'balances', 'checkout_sessions', 'generations', 'ledger_entries']),
  );
  expect(await own.violations()).toEqual([]);
});

test('accounts of two cells are each found in their own cell', async () => {
  const accounts = [await openAccount(idIn(0)), await openAccount(idIn(1))];
  const sessions = [];
  for (const account of accounts) {
    sessions.push(await purchase(account.accountId));
    const ledger = new LedgerStore(two.cells.of(account.accountId).money);
    const hold = holdRequest(account, usd('1.00'));
    await ledger.reserve([hold], 60_000);
    const settled = settlement({ ...account, id: hold.id }, usd('1.00'));
    await ledger.settle([{ settlement: settled, onlyExpired: false }]);
    const generations = new GenerationsReadModel(two.cells);
    const found = await generations.find(account.accountId, publicId('generation', hold.id));
    expect(found?.charge).toBe(usd('1.00').toString());
    expect(await new CreditsReadModel(two.cells).get(account.accountId)).toBeDefined();
  }
  const keys = new KeysStore(two.cells);
  const facts = await keys.facts(accounts.map(({ hash }) => hash));
  expect(accounts.map(({ hash }) => facts.get(hash)?.principal.accountId)).toEqual(
    accounts.map(({ accountId }) => accountId),
  );
  expect(await keys.markUsed(new Map(accounts.map(({ apiKeyId }) => [apiKeyId, Date.now()])))).toEqual([]);
  const checkouts = new CheckoutStore(two.cells);
  const paid = await Promise.all(sessions.map((id) => checkouts.findByPayment('stripe', `pi_${id}`)));
  expect(paid.map((row) => row?.id)).toEqual(sessions);
});

test('a batch is divided by cell and keeps its order', () => {
  const [first, second] = [two.both[0].database, two.both[1].database];
  const cut = byCell([1, 2, 3, 4, 5], (item) => (item % 2 === 0 ? first : second));
  expect(cut).toEqual([
    { cell: second, items: [1, 3, 5] },
    { cell: first, items: [2, 4] },
  ]);
  const one = oneCell(first);
  expect(byCell([1, 2], () => one.of(newUuid()))).toEqual([{ cell: first, items: [1, 2] }]);
});
