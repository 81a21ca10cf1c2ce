import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer as createHttpsServer } from 'node:https';
import { createServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { TLSSocket } from 'node:tls';
import pg from 'pg';
import { migrateUp } from '../../migrations/migrate.ts';
import { createDatabase } from '../../src/store/database.ts';
import { inspectDatabase } from '../../src/store/inspect-database.ts';
import { temporaryFolder } from '../factories/temporary-folder.ts';
import { UNTRUSTED } from '../factories/untrusted-certificate.ts';
import { compiled } from '../setup/compiled.ts';
import { createTestDatabase, type TestDatabase } from '../setup/database.ts';

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db?.close());

async function refusal(changes: { [Part in 'password' | 'pathname' | 'search' | 'port']?: string }) {
  const url = Object.assign(new URL(db.url), changes);
  const database = createDatabase({ url: url.href, moneyConnections: 1, connections: 1 }, () => undefined);
  return await inspectDatabase(database)
    .then(
      () => undefined,
      (error: Error) => [error.name, error.message],
    )
    .finally(() => database.close());
}

test.each([
  ['a wrong password', { password: 'wrong' }, /^DATABASE_URL: password authentication failed/],
  ['no such database', { pathname: '/nowhere' }, /^DATABASE_URL: database "nowhere" does not exist/],
  ['TLS required of a server without TLS', { search: '?sslmode=verify-full' }, /does not offer$/],
])('%s gives a one-line error without a stack trace', async (_, changes, words) => {
  expect(await refusal(changes)).toEqual(['ConfigError', expect.stringMatching(words)]);
});

/** Runs `work` with the URL of the owner of an empty database in an encoding. */
async function withEncoding(encoding: string, work: (ownerUrl: string, name: string) => Promise<void>) {
  const name = `encoded_${randomBytes(4).toString('hex')}`;
  const owner = new pg.Client({ connectionString: db.ownerUrl });
  await owner.connect();
  await owner.query(
    `CREATE DATABASE ${name} ENCODING '${encoding}' LOCALE_PROVIDER libc LOCALE 'C' TEMPLATE template0`,
  );
  await work(Object.assign(new URL(db.ownerUrl), { pathname: name }).href, name);
  await owner.query(`DROP DATABASE ${name}`);
  await owner.end();
}

test('a database that cannot store every text is neither migrated nor started on', async () => {
  await withEncoding('LATIN1', async (ownerUrl, name) => {
    const words = `the database ${name} has the encoding LATIN1: Tollgate needs UTF8. Make another one: `;
    await expect(migrateUp({ ownerUrl })).rejects.toThrow(words);
    expect(await refusal({ pathname: name })).toEqual([
      'ConfigError',
      expect.stringContaining(`DATABASE_URL: ${words}`),
    ]);
  });
});

test('a database in SQL_ASCII, in which Debian makes them, works with a warning', async () => {
  await withEncoding('SQL_ASCII', async (ownerUrl) => {
    await migrateUp({ ownerUrl });
    const database = createDatabase({ url: ownerUrl, moneyConnections: 1, connections: 1 }, () => undefined);
    expect(await inspectDatabase(database)).toContainEqual(expect.stringContaining('encoding is SQL_ASCII'));
    await database.close();
  });
});

test('a server that is away, or has no connection left, gives a one-line error that is worth another try', async () => {
  const name = new URL(db.url).pathname.slice(1);
  const words = /^DATABASE_URL: the database cannot be used at the moment: ./;
  expect(await refusal({ port: '1' })).toEqual(['UnavailableError', expect.stringMatching(words)]);
  const owner = new pg.Client({ connectionString: db.ownerUrl });
  await owner.connect();
  await owner.query(`ALTER DATABASE ${name} CONNECTION LIMIT 0`);
  expect(await refusal({})).toEqual(['UnavailableError', expect.stringContaining('too many connections')]);
  await owner.query(`ALTER DATABASE ${name} CONNECTION LIMIT -1`);
  await owner.end();
});

test('a start names what a crash of the server can lose', async () => {
  const url = Object.assign(new URL(db.url), { search: '?options=-c%20synchronous_commit%3Doff' }).href;
  const database = createDatabase({ url, moneyConnections: 1, connections: 1 }, () => undefined);
  expect(await inspectDatabase(database)).toContainEqual(
    expect.stringContaining('synchronous_commit=off: a crash of the server can lose'),
  );
  await database.close();
});

test('an untrusted certificate gives a one-line error that names the setting', async () => {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => {
      socket.write('S');
      new TLSSocket(socket, { isServer: true, ...UNTRUSTED }).on('error', () => undefined);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const refused = await refusal({ port: String(port), search: '?sslmode=verify-full' });
  expect(refused).toEqual([
    'ConfigError',
    expect.stringMatching(/^DATABASE_URL: the TLS connection failed \(self-signed .*sslrootcert=/),
  ]);
  server.close();
});

test('an untrusted certificate of the bucket ends the start with one line and code 2', async () => {
  const bucket = createHttpsServer(UNTRUSTED).listen(0, '127.0.0.1');
  await once(bucket, 'listening');
  const { port } = bucket.address() as { port: number };
  const child = spawn(process.execPath, [await compiled('src/server.ts')], {
    env: {
      PATH: process.env.PATH,
      DATABASE_URL: db.url,
      REDIS_URL: process.env.TEST_REDIS_URL,
      DATA_DIR: temporaryFolder('api'),
      TOLLGATE_SECRET: 'a secret of the settings tests, 32 characters',
      ADMIN_TOKEN: 'admin-token-of-the-settings-tests',
      LOG_LEVEL: 'silent',
      S3_ENDPOINT: `https://127.0.0.1:${port}`,
      S3_REGION: 'here',
      S3_BUCKET: 'media',
      S3_ACCESS_KEY_ID: 'id',
      S3_SECRET_ACCESS_KEY: 'secret',
      S3_FORCE_PATH_STYLE: 'true',
    },
  });
  const [complaint, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  bucket.close();
  expect(complaint).toMatch(/^S3_ENDPOINT: the TLS .* refused \(self-signed .*NODE_EXTRA_CA_CERTS=.*$/m);
  expect(code).toBe(2);
});
