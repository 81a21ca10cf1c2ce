import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { migrateUp } from '../../migrations/migrate.ts';
import { endWorker, spawnTaskWorker } from '../factories/spawn-task-worker.ts';
import { submitImage } from '../factories/task-order.ts';
import { TaskTest } from '../factories/task-test.ts';

/** The functions a worker calls to charge or release the hold of a task. */
const ALLOWED = ['ledger_settle(jsonb)', 'ledger_settle_few(jsonb)'];
const INSUFFICIENT_PRIVILEGE = '42501';

const role = `worker_${randomBytes(4).toString('hex')}`;
const password = randomBytes(12).toString('hex');
let it: TaskTest;
let owner: pg.Client;
let worker: pg.Client;
let workerUrl: string;
const children: ChildProcess[] = [];

beforeAll(async () => {
  it = await TaskTest.open({ redisDatabase: 13 });
  owner = new pg.Client({ connectionString: it.database.ownerUrl });
  await owner.connect();
  await owner.query(`CREATE ROLE ${role} LOGIN PASSWORD '${password}'`);
  const url = new URL(it.database.ownerUrl);
  const applicationRole = decodeURIComponent(new URL(it.database.url).username);
  await migrateUp({ ownerUrl: url.href, applicationRole, workerRole: role });
  Object.assign(url, { username: role, password });
  workerUrl = url.href;
  worker = new pg.Client({ connectionString: workerUrl });
  await worker.connect();
});

afterAll(async () => {
  await Promise.all(children.map((child) => endWorker(child, 'SIGTERM')));
  await worker?.end();
  await owner?.query(`DROP OWNED BY ${role}`);
  await owner?.query(`DROP ROLE ${role}`);
  await owner?.end();
  await it?.close();
});

async function refusalOf(statement: string): Promise<string | undefined> {
  return await worker.query(statement).then(
    () => undefined,
    (error: pg.DatabaseError) => error.code,
  );
}

test('denies every function of the schema except the two that end a task', async () => {
  const { rows } = await owner.query<{ signature: string; call: string; strict: boolean; granted: boolean }>(`
    SELECT p.oid::regprocedure::text AS signature, p.proisstrict AS strict,
           has_function_privilege('${role}', p.oid, 'EXECUTE') AS granted,
           format('SELECT %I(%s)', p.proname,
             array_to_string(ARRAY(SELECT format('NULL::%s', format_type(t, NULL)) FROM unnest(p.proargtypes) t), ', ')) AS call
      FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace AND p.prorettype <> 'trigger'::regtype`);
  expect(rows.length).toBeGreaterThan(30);
  const callable: string[] = [];
  for (const { signature, call, strict, granted } of rows) {
    // a strict function is not executed with NULL at all, so its privilege is never checked
    const refusal = strict ? INSUFFICIENT_PRIVILEGE : await refusalOf(call);
    if (granted || refusal !== INSUFFICIENT_PRIVILEGE) {
      callable.push(signature);
    }
  }
  expect(callable.sort()).toEqual(ALLOWED);
});

test.each([
  'SELECT * FROM balances',
  'SELECT hash, spent FROM api_keys',
  'SELECT * FROM ledger_entries',
  'SELECT * FROM webhook_secrets',
  'SELECT * FROM holds',
  'SELECT * FROM console_sessions',
  'UPDATE tasks SET charge = 0',
  'UPDATE tasks SET account_id = gen_random_uuid()',
  'DELETE FROM tasks',
  "UPDATE api_keys SET role = 'owner'",
  "INSERT INTO accounts (id, name) VALUES (gen_random_uuid(), 'x')",
  'DELETE FROM task_outputs',
  'CREATE TABLE mine ()',
])('denies: %s', async (statement) => {
  expect(await refusalOf(statement)).toBe(INSUFFICIENT_PRIVILEGE);
});

test('makes an image on a worker with that role and charges it', async () => {
  const shared = { redisUrl: it.redisUrl, prefix: it.stack.prefix, folder: it.folder };
  const spawn = (databaseUrl: string, queues: string) =>
    spawnTaskWorker({ ...shared, databaseUrl }, [`--queues=${queues}`]);
  children.push(await spawn(workerUrl, 'generate,postprocess'), await spawn(it.database.url, 'maintenance'));
  const id = await submitImage(it.stack, it.who, 'a picture');
  expect((await it.ended(id)).task).toMatchObject({ state: 'succeeded', failures: 0 });
  expect(await it.charges(id)).toHaveLength(1);
});
