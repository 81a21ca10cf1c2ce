import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import pg from 'pg';
import { type RefusedStart, refusedStart } from '../factories/refused-start.ts';
import { temporaryFolder } from '../factories/temporary-folder.ts';
import { createTestDatabase, type TestDatabase } from '../setup/database.ts';

/** Settings that name a place which is not there, not ours or not free: only the start itself can tell. */

const START_MS = 30_000;
const BAD_SETTINGS = 2;
const folder = temporaryFolder('places');
const file = join(folder, 'tollgate.yaml');
let db: TestDatabase;

beforeAll(async () => {
  writeFileSync(file, 'models: []');
  db = await createTestDatabase();
});
afterAll(() => db?.close());

function expectRefusal({ code, lines }: RefusedStart, name: string, expected = BAD_SETTINGS): void {
  expect(lines).toEqual([expect.stringMatching(new RegExp(`^${name}: .+`))]);
  expect(code).toBe(expected);
}

test.each(['1', '2'])(
  'LISTEN_SOCKET leaves a file alone that is not a socket, with API_PROCESSES=%s',
  async (processes) => {
    const started = await refusedStart('src/server.ts', db.url, {
      LISTEN_SOCKET: file,
      API_PROCESSES: processes,
    });
    expectRefusal(started, 'LISTEN_SOCKET');
    expect(readFileSync(file, 'utf8')).toBe('models: []');
  },
  START_MS,
);

test(
  'an address that is not of this machine ends the start of the API with one line and code 2',
  async () => {
    expectRefusal(await refusedStart('src/server.ts', db.url, { METRICS_HOST: '192.0.2.1' }), 'METRICS_HOST');
  },
  START_MS,
);

test(
  'a database that Redis does not have ends the start of the API with one line and code 2',
  async () => {
    const url = new URL(process.env.TEST_REDIS_URL!);
    url.pathname = '/9999';
    expectRefusal(await refusedStart('src/server.ts', db.url, { REDIS_URL: url.href }), 'REDIS_URL');
  },
  START_MS,
);

test(
  'a taken port ends the start with one line, but not with the code that keeps a service from being started again',
  async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    expectRefusal(
      await refusedStart('workers/main.ts', db.url, { WORKER_PORT: String(port) }),
      'WORKER_PORT',
      1,
    );
    taken.close();
  },
  START_MS,
);

test.each(['src/server.ts', 'workers/main.ts'] as const)(
  'a database that was never migrated ends the start of %s with one line that says what to do',
  async (entry) => {
    const empty = Object.assign(new URL(db.url), { pathname: '/postgres' });
    const started = await refusedStart(entry, empty.href, {});
    expect(started.lines).toEqual([expect.stringContaining('npm run migrate')]);
    expectRefusal(started, 'DATABASE_URL', 1);
  },
  START_MS,
);

test(
  'a database whose migration did not end stops the start of the API with one line that says what to do',
  async () => {
    const owner = new pg.Client({ connectionString: db.ownerUrl });
    await owner.connect();
    await owner.query('ALTER FUNCTION record_prices RENAME TO record_prices_later');
    const started = await refusedStart('src/server.ts', db.url, {});
    await owner.query('ALTER FUNCTION record_prices_later RENAME TO record_prices');
    await owner.end();
    expect(started.lines).toEqual([expect.stringContaining('npm run migrate')]);
    expectRefusal(started, 'DATABASE_URL', 1);
  },
  START_MS,
);

test(
  'a database that is read-only stops the start of the API with one line, but not the next start',
  async () => {
    const readOnly = Object.assign(new URL(db.url), {
      search: '?options=-c%20default_transaction_read_only%3Don',
    });
    expectRefusal(await refusedStart('src/server.ts', readOnly.href, {}), 'DATABASE_URL', 1);
  },
  START_MS,
);
