import { z } from 'zod';
import { defineRoute } from '../../src/http/route.ts';
import { AppError } from '../../src/lib/errors.ts';
import { newUuid, publicId } from '../../src/lib/ids.ts';
import { createAccount } from '../factories/account.ts';
import { createKey, type TestKey } from '../factories/api-key.ts';
import { createGeneration } from '../factories/generation.ts';
import type { Answer } from './support/answer.types.ts';
import { eventually } from './support/eventually.ts';
import { startTestServer, type TestServer } from './support/test-server.ts';

let runs: string[] = [];
let release: () => void = () => undefined;
let gate: Promise<void> = Promise.resolve();

const work = defineRoute({
  method: 'post',
  path: '/api/v1/work',
  operationId: 'work',
  summary: 'work',
  tag: 'Test',
  access: 'inference',
  envelope: 'data',
  body: z.object({ text: z.string() }),
  response: { status: 201, schema: z.any() },
  errors: [],
  idempotency: 'replay',
  async handle({ body, generationId, response }) {
    runs.push(generationId);
    await gate;
    if (body.text === 'refuse') {
      throw new AppError('insufficient_credits', 'no money');
    }
    if (body.text === 'stream') {
      response.setHeader('content-type', 'text/event-stream');
      response.end('data: x\n\n');
      return undefined;
    }
    return {
      headers: { 'X-Generation-Id': generationId },
      body: { data: { text: body.text, generationId } },
    };
  },
});

const again = defineRoute({
  method: 'post',
  path: '/api/v1/again',
  operationId: 'again',
  summary: 'again',
  tag: 'Test',
  access: 'inference',
  envelope: 'data',
  response: { status: 200, schema: z.any() },
  errors: [],
  async handle({ generationId }) {
    runs.push(generationId);
    return { body: { data: {} } };
  },
});

let server: TestServer;
let accountId: string;
let key: TestKey;

beforeAll(async () => {
  server = await startTestServer({ extraRoutes: [work, again] });
  accountId = (await createAccount(server.database)).id;
  key = await createKey(server.database, accountId);
});
afterAll(() => server?.close());
beforeEach(() => {
  runs = [];
  gate = Promise.resolve();
});

function post(idempotencyKey: string, text = 'a', secret = key.secret) {
  return server.call('POST', '/api/v1/work', {
    key: secret,
    body: { text },
    headers: { 'idempotency-key': idempotencyKey },
  });
}

test('the same request again gets the first answer and runs nothing', async () => {
  const id = newUuid();
  const first = await post(id);
  const second = await post(id);
  expect(first.headers.get('idempotent-replayed')).toBeNull();
  expect(second.headers.get('idempotent-replayed')).toBe('true');
  expect([second.status, second.json.data]).toEqual([first.status, first.json.data]);
  expect(second.headers.get('x-generation-id')).toBe(first.headers.get('x-generation-id'));
  expect(second.json.request_id).toBe(second.headers.get('x-request-id'));
  expect(runs).toHaveLength(1);
});

test('another body, path or API key under the same key is 422', async () => {
  const id = newUuid();
  await post(id);
  const otherKey = await createKey(server.database, accountId);
  for (const answer of [await post(id, 'b'), await post(id, 'a', otherKey.secret)]) {
    expect([answer.status, answer.json.error.code]).toEqual([422, 'idempotency_key_reused']);
  }
  const otherPath = await server.call('POST', '/api/v1/keys', {
    key: key.secret,
    body: { name: 'x' },
    headers: { 'idempotency-key': id },
  });
  expect(otherPath.status).toBe(422);
  expect(runs).toHaveLength(1);
});

test('another account may use the same key', async () => {
  const id = newUuid();
  await post(id);
  const foreign = await createKey(server.database, (await createAccount(server.database)).id);
  const answer = await post(id, 'a', foreign.secret);
  expect([answer.status, answer.headers.get('idempotent-replayed')]).toEqual([201, null]);
  expect(runs).toHaveLength(2);
});

test('while the first one runs the second is told to wait, and of 20 at once one runs', async () => {
  const id = newUuid();
  gate = new Promise((resolve) => {
    release = resolve;
  });
  const early: Answer[] = [];
  const all = Array.from({ length: 20 }, async () => {
    const answer = await post(id);
    early.push(answer);
    return answer;
  });
  await eventually(() => expect(early).toHaveLength(19));
  for (const answer of early) {
    expect([answer.status, answer.json.error.code]).toEqual([409, 'idempotency_in_progress']);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
  }
  release();
  const statuses = (await Promise.all(all)).map((answer) => answer.status);
  expect(statuses.filter((status) => status === 201)).toHaveLength(1);
  expect(runs).toHaveLength(1);
});

test('a stream is not replayed: 409 names its generation', async () => {
  const id = newUuid();
  expect((await post(id, 'stream')).text).toBe('data: x\n\n');
  const again = await post(id, 'stream');
  expect([again.status, again.json.error.code]).toEqual([409, 'idempotency_completed']);
  expect(again.json.error.message).toContain(publicId('generation', runs[0] ?? ''));
  expect(runs).toHaveLength(1);
});

test('a refused request frees its key, with a new generation id for the next try', async () => {
  const id = newUuid();
  expect((await post(id, 'refuse')).status).toBe(402);
  expect((await post(id, 'refuse')).status).toBe(402);
  expect(runs).toHaveLength(2);
  expect(new Set(runs).size).toBe(2);
});

describe('after a crash', () => {
  test('the run is taken over under the same generation id once its lease is over', async () => {
    const id = newUuid();
    await post(id);
    await set(id, "state = 'running', answer = NULL, locked_until = clock_timestamp() + interval '30 s'");
    expect((await post(id)).status).toBe(409);
    await set(id, "locked_until = clock_timestamp() - interval '1 s'");
    expect((await post(id)).status).toBe(201);
    expect(runs).toHaveLength(2);
    expect(runs[1]).toBe(runs[0]);
  });

  test.each([
    ['without a charge is begun afresh', undefined, false],
    ['with a charge keeps its generation id', '0.50', true],
  ])('a run that was closed %s', async (_, charge, isKept) => {
    const account = await createAccount(server.database, { credits: '1.00' });
    const own = await createKey(server.database, account.id);
    const closed = await createGeneration(server.database, {
      ...{ accountId: account.id, apiKeyId: own.id },
      ...(charge !== undefined && { charge }),
    });
    const id = newUuid();
    await post(id, 'a', own.secret);
    const change = "state = 'running', answer = NULL, locked_until = clock_timestamp() - interval '1 s'";
    await set(id, `generation_id = '${closed}', ${change}`);
    expect((await post(id, 'a', own.secret)).status).toBe(201);
    expect(runs[1] === closed).toBe(isKept);
  });

  test('after a day the key is new', async () => {
    const id = newUuid();
    await post(id);
    await set(id, "created_at = clock_timestamp() - interval '25 hours'");
    expect((await post(id, 'b')).status).toBe(201);
    expect(new Set(runs).size).toBe(2);
  });

  async function set(id: string, change: string): Promise<void> {
    await server.database.money.query(`UPDATE idempotency_keys SET ${change} WHERE key = $1`, [id]);
  }
});

test('answers are encrypted at rest: a secret does not stand in the table', async () => {
  const id = newUuid();
  const created = await server.call('POST', '/api/v1/keys', {
    key: key.secret,
    body: { name: 'x' },
    headers: { 'idempotency-key': id },
  });
  const { rows } = await server.database.money.query('SELECT answer FROM idempotency_keys WHERE key = $1', [
    id,
  ]);
  expect(rows[0].answer.length).toBeGreaterThan(100);
  expect(rows[0].answer.includes(created.json.key)).toBe(false);
  const again = await server.call('POST', '/api/v1/keys', {
    key: key.secret,
    body: { name: 'x' },
    headers: { 'idempotency-key': id },
  });
  expect(again.json.key).toBe(created.json.key);
});

test.each(['', 'has space', 'x'.repeat(256), 'ü'])('400 for the Idempotency-Key %j', async (id) => {
  const answer = await post(id);
  expect([answer.status, answer.json.error.code]).toEqual([400, 'invalid_parameter']);
});

test('a POST that does not honour the header refuses it, before it acts', async () => {
  const call = { key: key.secret, headers: { 'idempotency-key': 'again-1' } };
  const { status, json } = await server.call('POST', '/api/v1/again', call);
  expect({ status, code: json.error.code }).toEqual({ status: 400, code: 'invalid_parameter' });
  expect(json.error.message).toContain('Idempotency-Key: is not honoured here');
  expect(runs).toEqual([]);
  expect((await server.call('POST', '/api/v1/again', { key: key.secret })).status).toBe(200);
});
