import { createHash } from 'node:crypto';
import { connect } from 'node:net';
import { z } from 'zod';
import { defineRoute } from '../../src/http/route.ts';
import { AppError } from '../../src/lib/errors.ts';
import type { Steps } from '../../src/lib/steps.ts';
import { isObject, type JsonObject } from '../../src/providers/json.ts';
import { createAccount } from '../factories/account.ts';
import { createKey } from '../factories/api-key.ts';
import { startTestServer, type TestServer } from './support/test-server.ts';

const PATH = '/api/v1/large';
const large = defineRoute({
  method: 'post',
  path: PATH,
  operationId: 'large',
  summary: 'Takes a large body',
  tag: 'Test',
  access: 'inference',
  envelope: 'data',
  body: z.looseObject({ items: z.array(z.looseObject({ n: z.int() })).optional() }),
  bodyBytesMax: 2 ** 25,
  response: { status: 200, schema: z.looseObject({}) },
  errors: [],
  otherForm: {
    read: (sent) => (isObject(sent) && sent.things !== undefined ? renamed(sent) : undefined),
    schema: z.looseObject({ others: z.array(z.looseObject({ n: z.int() })) }),
    handle: async ({ body }) => ({ body: { data: { form: 'other', sha256: sha256(body) } } }),
  },
  handle: async ({ body }) => ({ body: { data: { sha256: sha256(body) } } }),
});

function* renamed({ things }: JsonObject): Steps<unknown> {
  yield undefined;
  return { others: things };
}

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer({
    extraRoutes: [large],
    requireFunds: async () => {
      throw new AppError('insufficient_credits', 'Insufficient credits: nothing is left.');
    },
  });
});
afterAll(() => server?.close());

async function keyWith(credits: string): Promise<string> {
  const account = await createAccount(server.database, { credits });
  return (await createKey(server.database, account.id)).secret;
}

test.each([3, 30_000])(
  'a body of %i items in another form is read, checked and handled as such',
  async (count) => {
    const key = await keyWith('1.00');
    const things = Array.from({ length: count }, (_, n) => ({ n }));
    const { json } = await server.call('POST', PATH, { key, body: { things } });
    expect(json).toMatchObject({ data: { form: 'other', sha256: sha256({ others: things }) } });
    const refused = await server.call('POST', PATH, { key, body: { things: [...things, { n: 'x' }] } });
    expect([refused.status, refused.json.error.message]).toEqual([
      400,
      `others[${count}].n: must be a number`,
    ]);
  },
);

test('an account with credits may send megabytes', async () => {
  const key = await keyWith('1.00');
  const { status } = await server.call('POST', PATH, { key, body: { text: 'x'.repeat(2 ** 22) } });
  expect(status).toBe(200);
});

test('a body of megabytes arrives unchanged, and its errors are named', async () => {
  const key = await keyWith('1.00');
  const text = 'a "quoted" word\n, 漢字 😀 '.repeat(1_000);
  const items = Array.from({ length: 300 }, (_, n) => ({ n, text: `${n} ${text}` }));
  const body = { items, long: text.repeat(40) };
  const { status, json } = await server.call('POST', PATH, { key, body });
  expect([status, json.data]).toEqual([200, { sha256: sha256(body) }]);
  const wrong = { ...body, items: [...items, { n: 'x' }] };
  const refused = await server.call('POST', PATH, { key, body: wrong });
  expect([refused.status, refused.json.error.message]).toEqual([400, 'items[300].n: must be a number']);
});

test('without credits a large body is rejected before it is read, while a small one is read', async () => {
  const key = await keyWith('0.00');
  expect((await server.call('POST', PATH, { key, body: { text: 'x' } })).status).toBe(200);
  const head = await answerToHead(key, 2 ** 25);
  expect(head).toContain('HTTP/1.1 402');
});

test('rejects a body of a million empty lists from any caller', async () => {
  const key = await keyWith('1.00');
  const many = Array(1_000).fill('[]').join(',');
  const raw = `{"x":[${Array(1_000).fill(`[${many}]`).join(',')}]}`;
  const { status, json } = await server.call('POST', PATH, { key, raw });
  expect([status, json.error.message]).toEqual([400, 'the body holds more than 200000 values']);
});

function sha256(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex');
}

/** Returns the answer to a request head whose body is never sent. */
function answerToHead(key: string, bytes: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(server.port, '127.0.0.1');
    socket.on('error', reject);
    socket.once('data', (data) => {
      socket.destroy();
      resolve(data.toString());
    });
    socket.write(
      `POST ${PATH} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${bytes}\r\n\r\n`,
    );
  });
}
