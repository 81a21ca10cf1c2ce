import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { migrateUp } from '../../migrations/migrate.ts';
import { createTestDatabase, type TestDatabase } from '../setup/database.ts';

const tag = randomBytes(4).toString('hex');
const neighbor = `neighbor_${tag}`;
/** Names that Postgres allows for a role. */
const [ownerRole, applicationRole, workerRole, scalerRole] = [
  'Ow"ner',
  "Äpp %I o'x $$",
  'wor ker',
  'Scaler',
].map((name) => `${name} ${tag}`) as [string, string, string, string];
const database = `Shared "db" %s ${tag}`;
const id = pg.escapeIdentifier;
let db: TestDatabase;
let superuser: pg.Client;
let shared: pg.Client;

const inShared = (user?: string) => {
  const { host, port, user: name, password } = superuser;
  return new pg.Client({ host, port, database, user: user ?? name, password: user ? 'secret' : password });
};

beforeAll(async () => {
  db = await createTestDatabase();
  superuser = new pg.Client({ connectionString: db.ownerUrl });
  await superuser.connect();
  for (const role of [neighbor, ownerRole, applicationRole, workerRole, scalerRole]) {
    await superuser.query(`CREATE ROLE ${id(role)} LOGIN PASSWORD 'secret'`);
  }
  await superuser.query(`CREATE DATABASE ${id(database)} OWNER ${id(ownerRole)}`);
  shared = inShared();
  await shared.connect();
  await shared.query(`
    GRANT CREATE ON SCHEMA public TO ${neighbor};
    SET ROLE ${neighbor};
    CREATE TABLE theirs (x serial);
    CREATE FUNCTION their_reset() RETURNS integer LANGUAGE sql AS 'SELECT 1';
    CREATE FUNCTION their_sum() RETURNS integer LANGUAGE sql AS 'SELECT 1';
    REVOKE ALL ON FUNCTION their_reset() FROM PUBLIC;
    RESET ROLE`);
});

afterAll(async () => {
  await shared?.end();
  await superuser?.query(`DROP DATABASE ${id(database)} WITH (FORCE)`);
  for (const role of [neighbor, ownerRole, applicationRole, workerRole, scalerRole]) {
    await superuser?.query(`DROP ROLE ${id(role)}`);
  }
  await superuser?.end();
  await db?.close();
});

const rightsOn = async (role: string) => {
  const { rows } = await shared.query(
    `SELECT has_table_privilege($1, 'balances', 'SELECT') AS balances, has_table_privilege($1, 'balances', 'UPDATE') AS money,
            has_table_privilege($1, 'theirs', 'SELECT') AS theirs, has_function_privilege($1, 'ledger_settle(jsonb)', 'EXECUTE') AS settle,
            has_function_privilege($1, 'their_sum()', 'EXECUTE') AS "theirSum"`,
    [role],
  );
  return rows[0];
};

test('migrates beside the objects of another program, whose rights stay as they are, for roles of any name', async () => {
  const { host, port } = superuser;
  const ownerUrl = { host, port, database, user: ownerRole, password: 'secret' };
  for (const again of [false, true]) {
    const applied = await migrateUp({ ownerUrl, applicationRole, workerRole, scalerRole });
    expect(applied.length === 0).toBe(again);
  }
  const theirs = { theirs: false, theirSum: true };
  expect(await rightsOn(applicationRole)).toEqual({ balances: true, money: false, settle: true, ...theirs });
  expect(await rightsOn(workerRole)).toEqual({ balances: false, money: false, settle: true, ...theirs });
  expect(await rightsOn(scalerRole)).toEqual({ balances: false, money: false, settle: false, ...theirs });
});

test.each([
  [
    'a table of migrations',
    'schema_migrations (version text)',
    'the table schema_migrations belongs to another program',
  ],
  ['a table', 'accounts (id integer)', 'relation "accounts" already exists and belongs to another program'],
])(
  'says what to do when another program has %s of that name, and leaves it alone',
  async (_, table, reason) => {
    const name = `taken_${randomBytes(4).toString('hex')}`;
    await superuser.query(`CREATE DATABASE ${name}`);
    const ownerUrl = Object.assign(new URL(db.ownerUrl), { pathname: name }).href;
    const owner = new pg.Client({ connectionString: ownerUrl });
    await owner.connect();
    await owner.query(`CREATE TABLE ${table}`);
    await expect(migrateUp({ ownerUrl })).rejects.toMatchObject({
      name: 'UnsuitableDatabaseError',
      message: `${reason}. Give Tollgate a database, or at least a schema, of its own`,
    });
    const { rows } =
      await owner.query(`SELECT count(*)::integer AS tables FROM pg_tables WHERE schemaname = 'public'
                                         AND tablename <> 'schema_migrations'`);
    expect(rows).toEqual([{ tables: table.startsWith('accounts') ? 1 : 0 }]);
    await owner.end();
    await superuser.query(`DROP DATABASE ${name}`);
  },
);
