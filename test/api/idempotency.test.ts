import { z } from 'zod';
import { defineRoute } from '../../src/http/route.ts';
import { AppError } from '../../src/lib/errors.ts';
import { newUuid, publicId } from '../../src/lib/ids.ts';
import { createAccount } from '../factories/account.ts';
import { createKey, type TestKey } from '../factories/api-key.ts';
import { eventuallyHolds } from '../factories/eventually.ts';
import { createGeneration } from '../factories/generation.ts';
import { startTestServer, type TestServer } from './support/test-server.ts';

let runs: string[] = [];
/** Ids of the calls that were given up. */
let givenUp: string[] = [];
let release: () => void = () => undefined;
let gate: Promise<unknown> = Promise.resolve();

const work = defineRoute({
  method: 'post',
  path: '/api/v1/work',
  operationId: 'work',
  summary: 'work',
  tag: 'Test',
  access: 'inference',
  envelope: 'data',
  bodyFormat: 'json or form',
  body: z.object({ text: z.string(), stream: z.boolean().optional() }),
  response: { status: 201, schema: z.any(), stream: z.any() },
  errors: [],
  idempotency: 'replay',
  async handle({ body, generationId, response, signal }) {
    runs.push(generationId);
    const left = new Promise<'left'>((resolve) => {
      signal.addEventListener('abort', () => resolve('left'));
    });
    if ((await Promise.race([gate, left])) === 'left') {
      givenUp.push(generationId);
      return undefined;
    }
    if (body.text === 'refuse') {
      throw new AppError('insufficient_credits', 'no money');
    }
    if (body.stream) {
      response.setHeader('content-type', 'text/event-stream');
      response.setHeader('X-Generation-Id', generationId);
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

/**
 * An abandoned call ends after the grace period unless a retry waits for it. The period is long enough for a retry and short enough to
 * observe.
 */
const TIMES = { waitMs: 20_000, graceMs: 1_500 };

let server: TestServer;
let accountId: string;
let key: TestKey;

beforeAll(async () => {
  server = await startTestServer({ extraRoutes: [work, again], idempotencyTimes: TIMES });
  accountId = (await createAccount(server.database)).id;
  key = await createKey(server.database, accountId);
});
afterAll(() => server?.close());
beforeEach(() => {
  runs = [];
  givenUp = [];
  gate = Promise.resolve();
});

function post(idempotencyKey: string, text = 'a', secret = key.secret, stream = false) {
  return server.call('POST', '/api/v1/work', {
    key: secret,
    body: { text, ...(stream && { stream }) },
    headers: { 'idempotency-key': idempotencyKey },
  });
}

function closeGate(): void {
  gate = new Promise((resolve) => {
    release = () => resolve(undefined);
  });
}

/** Starts a call and hangs up once it runs. Returns its generation id. */
async function leave(headers: Record<string, string>, body: object): Promise<string> {
  const leaving = new AbortController();
  const before = runs.length;
  const asked = fetch(`${server.url}/api/v1/work`, {
    method: 'POST',
    headers: {
      ...(!(body instanceof FormData) && { 'content-type': 'application/json' }),
      ...{ authorization: `Bearer ${key.secret}`, ...headers },
    },
    body: body instanceof FormData ? body : JSON.stringify(body),
    signal: leaving.signal,
  }).catch(() => undefined);
  await eventuallyHolds(() => expect(runs).toHaveLength(before + 1));
  leaving.abort();
  await asked;
  return runs.at(-1)!;
}

test('a repeated request gets the first answer and runs nothing', async () => {
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

/** Returns a form, which `fetch` sends under another boundary each time. */
function formOf(text: string, file = 'a picture'): FormData {
  const form = new FormData();
  form.set('text', text);
  form.set('file', new Blob([file]));
  return form;
}

test('a form is the same request under any boundary, and another one with another field or file', async () => {
  const id = newUuid();
  const postForm = async (form: FormData) => {
    const response = await fetch(`${server.url}/api/v1/work`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key.secret}`, 'idempotency-key': id },
      body: form,
    });
    return [response.status, response.headers.get('idempotent-replayed')];
  };
  expect(await postForm(formOf('a'))).toEqual([201, null]);
  expect(await postForm(formOf('a'))).toEqual([201, 'true']);
  expect(await postForm(formOf('b'))).toEqual([422, null]);
  expect(await postForm(formOf('a', 'another picture'))).toEqual([422, null]);
  expect(runs).toHaveLength(1);
});

test('returns 422 for another body, path or API key under the same key', async () => {
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

test('while the first request runs the others wait, and only one of 20 simultaneous requests runs', async () => {
  const id = newUuid();
  closeGate();
  const all = Array.from({ length: 20 }, () => post(id));
  await eventuallyHolds(() => expect(runs).toHaveLength(1));
  release();
  const answers = await Promise.all(all);
  expect(new Set(answers.map(({ status, json }) => `${status} ${json.data.generationId}`)).size).toBe(1);
  const replayed = answers.filter(({ headers }) => headers.get('idempotent-replayed') === 'true');
  expect([replayed.length, runs.length]).toEqual([19, 1]);
});

test('does not wait for a running stream', async () => {
  const id = newUuid();
  closeGate();
  const first = post(id, 'a', key.secret, true);
  await eventuallyHolds(() => expect(runs).toHaveLength(1));
  const second = await post(id, 'a', key.secret, true);
  expect([second.status, second.json.error.code]).toEqual([409, 'idempotency_in_progress']);
  expect(Number(second.headers.get('retry-after'))).toBeGreaterThan(0);
  release();
  expect((await first).text).toBe('data: x\n\n');
});

describe('when the client disconnects', () => {
  test('a call with a key runs to its end, beyond any grace period, and its answer is kept for the retry', async () => {
    const id = newUuid();
    closeGate();
    const generationId = await leave({ 'idempotency-key': id }, { text: 'a' });
    const retry = post(id);
    // a call without a key and without a retry is given up after the grace period; by then this one would have been, too
    const other = await leave({ 'x-stainless-retry-count': '0' }, { text: 'nobody repeats it' });
    await eventuallyHolds(() => expect(givenUp).toEqual([other]));
    release();
    const answer = await retry;
    expect([answer.status, answer.json.data.generationId]).toEqual([201, generationId]);
    expect(answer.headers.get('idempotent-replayed')).toBe('true');
    expect(givenUp).toEqual([other]);
  });

  test('a stream with a key is given up, and its key is free again if nothing was sent', async () => {
    const id = newUuid();
    closeGate();
    const generationId = await leave({ 'idempotency-key': id }, { text: 'a', stream: true });
    await eventuallyHolds(() => expect(givenUp).toEqual([generationId]));
    release();
    await eventuallyHolds(async () =>
      expect((await post(id, 'a', key.secret, true)).text).toBe('data: x\n\n'),
    );
  });

  test('a call without a key is given up at once', async () => {
    closeGate();
    const generationId = await leave({}, { text: 'a' });
    await eventuallyHolds(() => expect(givenUp).toEqual([generationId]), 1_000);
  });
});

describe('an SDK that retries by itself', () => {
  const retry = (count: number, text: string, headers: Record<string, string> = {}) =>
    server.call('POST', '/api/v1/work', {
      key: key.secret,
      body: { text },
      headers: { 'x-stainless-retry-count': String(count), ...headers },
    });

  test('joins the call that it abandoned, however often it disconnects', async () => {
    const text = newUuid();
    closeGate();
    const generationId = await leave({ 'x-stainless-retry-count': '0' }, { text });
    await eventuallyHolds(async () => expect(await joinable()).toEqual([true]));
    const joining = new AbortController();
    const second = fetch(`${server.url}/api/v1/work`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${key.secret}`,
        'x-stainless-retry-count': '1',
      },
      body: JSON.stringify({ text }),
      signal: joining.signal,
    }).catch(() => undefined);
    await eventuallyHolds(async () => expect(await joinable()).toEqual([false]));
    joining.abort();
    await second;
    await eventuallyHolds(async () => expect(await joinable()).toEqual([true]));
    const third = retry(2, text);
    await eventuallyHolds(async () => expect(await joinable()).toEqual([false]));
    release();
    const answer = await third;
    expect([answer.status, answer.json.data.generationId]).toEqual([201, generationId]);
    expect(runs).toEqual([generationId]);
  });

  test('gets the answer of a call that ended in the meantime, and no other client does', async () => {
    const text = newUuid();
    closeGate();
    const left = [
      await leave({ 'x-stainless-retry-count': '0' }, { text }),
      await leave({ 'x-stainless-retry-count': '0' }, { text }),
    ];
    await eventuallyHolds(async () => expect(await joinable()).toEqual([true, true]));
    release();
    const answers = [await retry(1, text), await retry(1, text), await retry(1, text)];
    const ids = answers.map(({ json }) => json.data.generationId);
    expect(new Set(ids.slice(0, 2))).toEqual(new Set(left));
    expect(left).not.toContain(ids[2]);
    expect(answers.map(({ headers }) => headers.get('idempotent-replayed'))).toEqual(['true', 'true', null]);
  });

  test('joins a call whose body was a form, which SDKs send under a new boundary', async () => {
    const text = newUuid();
    closeGate();
    const generationId = await leave({ 'x-stainless-retry-count': '0' }, formOf(text));
    await eventuallyHolds(async () => expect(await joinable()).toEqual([true]));
    release();
    const again = await fetch(`${server.url}/api/v1/work`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key.secret}`, 'x-stainless-retry-count': '1' },
      body: formOf(text),
    });
    expect(await again.json()).toMatchObject({ data: { generationId } });
    expect(runs).toEqual([generationId]);
  });

  test('starts a new call when the key or body differs or the call failed', async () => {
    const text = newUuid();
    closeGate();
    await leave({ 'x-stainless-retry-count': '0' }, { text });
    await leave({ 'x-stainless-retry-count': '0' }, { text: 'refuse' });
    await eventuallyHolds(async () => expect(await joinable()).toEqual([true, true]));
    release();
    const otherKey = await createKey(server.database, accountId);
    const foreign = await server.call('POST', '/api/v1/work', {
      key: otherKey.secret,
      body: { text },
      headers: { 'x-stainless-retry-count': '1' },
    });
    expect(foreign.headers.get('idempotent-replayed')).toBeNull();
    expect((await retry(1, `${text}!`)).headers.get('idempotent-replayed')).toBeNull();
    expect((await retry(1, 'refuse')).status).toBe(402);
    expect(runs).toHaveLength(5);
  });

  /** Returns whether a retry may join each abandoned call. */
  async function joinable(): Promise<boolean[]> {
    const { rows } = await server.database.money.query(
      `SELECT joinable_until IS NOT NULL AS joinable FROM idempotency_keys
       WHERE generation_id = ANY($1) AND key LIKE 'left %'`,
      [runs],
    );
    return rows.map((row: { joinable: boolean }) => row.joinable);
  }
});

test('limits how long a repeated request waits', async () => {
  const impatient = await startTestServer({
    extraRoutes: [work],
    idempotencyTimes: { waitMs: 100, graceMs: 100 },
  });
  try {
    const own = await createKey(impatient.database, (await createAccount(impatient.database)).id);
    const call = { key: own.secret, body: { text: 'a' }, headers: { 'idempotency-key': 'once' } };
    closeGate();
    const first = impatient.call('POST', '/api/v1/work', call);
    await eventuallyHolds(() => expect(runs).toHaveLength(1));
    const second = await impatient.call('POST', '/api/v1/work', call);
    expect([second.status, second.json.error.code]).toEqual([409, 'idempotency_in_progress']);
    expect(second.headers.get('x-should-retry')).toBe('true');
    release();
    expect((await first).status).toBe(201);
  } finally {
    await impatient.close();
  }
});

test('does not replay a stream: the 409 names its generation', async () => {
  const id = newUuid();
  expect((await post(id, 'a', key.secret, true)).text).toBe('data: x\n\n');
  // the end of a stream is stored once its last byte has left
  await eventuallyHolds(async () => {
    const again = await post(id, 'a', key.secret, true);
    expect([again.status, again.json.error.code]).toEqual([409, 'idempotency_completed']);
    expect(again.json.error.message).toContain(publicId('generation', runs[0] ?? ''));
  });
  expect(runs).toHaveLength(1);
});

test('a rejected request frees its key, and the next attempt gets a new generation id', async () => {
  const id = newUuid();
  expect((await post(id, 'refuse')).status).toBe(402);
  expect((await post(id, 'refuse')).status).toBe(402);
  expect(runs).toHaveLength(2);
  expect(new Set(runs).size).toBe(2);
});

describe('after a crash', () => {
  test('takes over the run under the same generation id once its lease has expired', async () => {
    const id = newUuid();
    await post(id);
    await set(id, "state = 'running', answer = NULL, locked_until = clock_timestamp() + interval '30 s'");
    const waiting = post(id);
    await set(id, "locked_until = clock_timestamp() - interval '1 s'");
    expect((await waiting).status).toBe(201);
    expect(runs).toHaveLength(2);
    expect(runs[1]).toBe(runs[0]);
  });

  test.each([
    ['without a charge starts afresh', undefined, false],
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

  test('a key can be used again after a day', async () => {
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

test('encrypts answers at rest: no secret is readable in the table', async () => {
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

test.each(['', 'has space', 'x'.repeat(256), 'ü'])('returns 400 for the Idempotency-Key %j', async (id) => {
  const answer = await post(id);
  expect([answer.status, answer.json.error.code]).toEqual([400, 'invalid_parameter']);
});

test('a POST route that does not support the header rejects it before doing anything', async () => {
  const call = { key: key.secret, headers: { 'idempotency-key': 'again-1' } };
  const { status, json } = await server.call('POST', '/api/v1/again', call);
  expect({ status, code: json.error.code }).toEqual({ status: 400, code: 'invalid_parameter' });
  expect(json.error.message).toContain('Idempotency-Key: is not supported here');
  expect(runs).toEqual([]);
  expect((await server.call('POST', '/api/v1/again', { key: key.secret })).status).toBe(200);
});
