import { newUuid } from '../../src/lib/ids.ts';
import { eventually } from '../factories/eventually.ts';
import { Browser } from './support/browser.ts';
import { type Customer, createCustomer } from './support/customer.ts';
import {
  ADMIN_TOKEN,
  type CallOptions,
  type OperatorServer,
  startOperatorServer,
} from './support/operator-server.ts';

const OLD_SECRET = 'o'.repeat(32);
const NEW_SECRET = 'n'.repeat(32);
const RESEALED = 'webhook secrets sealed under the new TOLLGATE_SECRET';
let before: OperatorServer;
let who: Customer;
const later: OperatorServer[] = [];

beforeAll(async () => {
  before = await startOperatorServer({
    redisDatabase: 10,
    environment: { TOLLGATE_SECRET: OLD_SECRET },
  });
  who = await createCustomer(before);
});

afterAll(async () => {
  for (const server of later) {
    await server.close();
  }
  await before?.close();
});

/** Starts a process of the same installation with other settings. */
async function restart(environment: Readonly<Record<string, string>>): Promise<OperatorServer> {
  const server = await startOperatorServer({
    redisDatabase: 10,
    environment: { DATABASE_URL: before.db.url, ...environment },
  });
  later.push(server);
  return server;
}

const asCustomer = (server: OperatorServer, method: string, path: string, options: CallOptions = {}) =>
  server.call(method, path, { token: who.secret, ...options });

async function webhookSecret(server: OperatorServer): Promise<string> {
  return (await asCustomer(server, 'GET', '/api/v1/webhooks/secret')).json.data.secret;
}

/** Returns the status of a link that a process signed: 403 for an invalid signature, 404 for a file that does not exist. */
async function follow(server: OperatorServer, link: string): Promise<number> {
  const { pathname, search } = new URL(link);
  return (await server.call('GET', pathname + search, { token: null })).status;
}

/** Returns a link to a file that was never stored. */
function signLink(server: OperatorServer): string {
  const key = `acct/${newUuid()}/2026-11/${newUuid()}/0-original-0123456789abcdef.png`;
  return server.foundation.signer.sign(key, { ttlSeconds: 600 });
}

test('rotates a secret without losing anything sealed or signed before, and then drops the old one', async () => {
  const secretBefore = await webhookSecret(before);
  const link = signLink(before);
  const browser = new Browser(before.url);
  await browser.signIn(ADMIN_TOKEN);
  const session = { cookie: `tollgate_operator=${browser.cookies.get('tollgate_operator')}` };
  const call = {
    body: { model: 'tollgate/small', messages: [{ role: 'user', content: 'once' }], max_tokens: 5 },
    headers: { 'idempotency-key': 'before-the-rotation' },
  };
  const first = await asCustomer(before, 'POST', '/api/v1/chat/completions', call);
  expect(first.status).toBe(200);
  const board = async (server: OperatorServer) =>
    (await server.call('GET', '/admin/queues/api/queues', { token: null, headers: session })).status;

  const rotating = await restart({
    TOLLGATE_SECRET: NEW_SECRET,
    TOLLGATE_SECRET_PREVIOUS: OLD_SECRET,
  });
  expect(await webhookSecret(rotating)).toBe(secretBefore);
  expect(await follow(rotating, link)).toBe(404);
  expect(await board(rotating)).toBe(200);
  const replayed = await asCustomer(rotating, 'POST', '/api/v1/chat/completions', call);
  expect([replayed.headers.get('idempotent-replayed'), replayed.json.id]).toEqual(['true', first.json.id]);
  const newLink = signLink(rotating);
  expect([await follow(rotating, newLink), await follow(before, newLink)]).toEqual([404, 403]);
  await eventually(async () => rotating.log.text.includes(RESEALED), 30_000, 'the resealing');

  const rotated = await restart({ TOLLGATE_SECRET: NEW_SECRET });
  expect(await webhookSecret(rotated)).toBe(secretBefore);
  expect([await follow(rotated, newLink), await follow(rotated, link), await board(rotated)]).toEqual([
    404, 403, 401,
  ]);
});

test('a webhook secret of a lost TOLLGATE_SECRET stops at its account, which gets a working one by rotating it', async () => {
  const other = await createCustomer(before);
  const ofOther = async (server: OperatorServer) =>
    (await server.call('GET', '/api/v1/webhooks/secret', { token: other.secret })).json.data?.secret;
  const otherBefore = await ofOther(before);

  const astray = await restart({ TOLLGATE_SECRET: 'l'.repeat(32) });
  const warned = async () => astray.log.text.includes('sealed with none of the known secrets');
  await eventually(warned, 30_000, 'the line about a TOLLGATE_SECRET that opens nothing');
  expect((await asCustomer(astray, 'POST', '/api/v1/webhooks/secret/rotate')).status).toBe(200);

  const rotating = await restart({ TOLLGATE_SECRET: NEW_SECRET, TOLLGATE_SECRET_PREVIOUS: OLD_SECRET });
  await eventually(async () => rotating.log.text.includes(RESEALED), 30_000, 'the resealing');
  expect(rotating.log.text).toContain('sealed with none of the known secrets');

  const rotated = await restart({ TOLLGATE_SECRET: NEW_SECRET });
  expect(await ofOther(rotated)).toBe(otherBefore);
  const anew = await asCustomer(rotated, 'POST', '/api/v1/webhooks/secret/rotate');
  expect([anew.status, anew.json.data?.previous_secret_expires_at]).toEqual([200, null]);
  expect(await webhookSecret(rotated)).toBe(anew.json.data.secret);
});
