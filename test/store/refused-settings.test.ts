import { once } from 'node:events';
import { createServer } from 'node:net';
import { TLSSocket } from 'node:tls';
import { createDatabase } from '../../src/store/database.ts';
import { inspectDatabase } from '../../src/store/inspect-database.ts';
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
  ['TLS asked of a server without', { search: '?sslmode=verify-full' }, /does not offer$/],
])('%s is one line, not a stack', async (_, changes, words) => {
  expect(await refusal(changes)).toEqual(['ConfigError', expect.stringMatching(words)]);
});

test('a TLS connection that cannot be made is one line that says what to set', async () => {
  // it offers TLS and has no certificate
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => {
      socket.write('S');
      new TLSSocket(socket, { isServer: true }).on('error', () => undefined);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const refused = await refusal({ port: String(port), search: '?sslmode=verify-full' });
  expect(refused).toEqual([
    'ConfigError',
    expect.stringMatching(/^DATABASE_URL: the TLS connection is refused .*sslrootcert=/),
  ]);
  server.close();
});
