import { createHash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { parsePublicId } from '../../src/lib/ids.ts';
import { UPLOAD_PART_BYTES } from '../../src/remote-workers/upload-part.ts';
import { rawKey } from '../../src/tasks/raw-outputs.ts';
import { eventually } from '../factories/eventually.ts';
import { type Customer, createCustomer, orderImage, orderVideo } from '../operators/support/customer.ts';
import type { Answer, OperatorServer } from '../operators/support/operator-server.ts';
import { startWholeApplication } from './support/whole-application.ts';

const WORKER = 'host-1.77';

let server: OperatorServer;
let customer: Customer;
let token: string;
let tokens = 0;

beforeAll(async () => {
  server = await startWholeApplication({ redisDatabase: 6 });
  customer = await createCustomer(server);
  token = (await createToken()).token;
});
afterAll(() => server?.close());

async function createToken(): Promise<{ name: string; token: string }> {
  tokens += 1;
  const body = { name: `rented-${tokens}`, pools: ['local'] };
  const { status, json } = await server.call('POST', '/admin/v1/worker-tokens', { body });
  expect(status).toBe(201);
  return { name: body.name, token: json.token };
}

async function ask(path: string, body: object, as = token): Promise<Answer> {
  return await server.call('POST', `/worker/v1/${path}`, { token: as, body: { worker: WORKER, ...body } });
}

// biome-ignore lint/suspicious/noExplicitAny: a test reads whatever came back
async function claim(as = token): Promise<any> {
  const { status, json } = await ask('claims', { pool: 'local', wait_seconds: 5 }, as);
  expect(status).toBe(200);
  return json.data.task;
}

async function step(task: { task_id: string; attempt: number }, rest: object, as = token): Promise<boolean> {
  const { task_id, attempt } = task;
  const { status, json } = await ask('steps', { task_id, attempt, ...rest }, as);
  expect([status, json.error]).toEqual([200, undefined]);
  return json.data.held;
}

async function stateOf(taskId: string): Promise<Record<string, unknown>> {
  const id = parsePublicId('generation', taskId);
  const { rows } = await server.db.database.money.query(
    'SELECT state, failures, worker, error_code FROM tasks WHERE id = $1',
    [id],
  );
  return rows[0];
}

beforeEach(async () => {
  // keeps tasks that an earlier test left waiting from being handed out in this one
  await server.db.database.money.query("UPDATE tasks SET not_before = 'infinity' WHERE completed_at IS NULL");
});

describe('tokens', () => {
  test('are shown once, stored as hashes, listed with their use, and rejected once revoked', async () => {
    const mine = await createToken();
    expect((await ask('claims', { pool: 'local' }, mine.token)).json.data).toEqual({ task: null });
    const { rows } = await server.db.database.money.query('SELECT hash FROM worker_tokens WHERE name = $1', [
      mine.name,
    ]);
    expect(rows).toEqual([{ hash: createHash('sha256').update(mine.token).digest('hex') }]);
    const listed = await server.call('GET', '/admin/v1/worker-tokens');
    expect(listed.text).not.toContain(mine.token);
    expect(listed.json.data[0]).toMatchObject({
      name: mine.name,
      pools: ['local'],
      last_used_at: expect.any(String),
    });
    const waiting = ask('claims', { pool: 'local', wait_seconds: 20 }, mine.token);
    const revoked = await server.call('DELETE', `/admin/v1/worker-tokens/${mine.name}`);
    expect(revoked.json.data.revoked_at).not.toBeNull();
    expect((await ask('claims', { pool: 'local' }, mine.token)).status).toBe(401);
    // a worker that was already waiting gets nothing either, and the task stays for others
    const task = await orderImage(server, customer);
    expect((await waiting).status).toBe(401);
    expect(await stateOf(task)).toMatchObject({ state: 'queued', failures: 0 });
    expect(await claim()).toMatchObject({ task_id: task });
    const again = await server.call('DELETE', `/admin/v1/worker-tokens/${mine.name}`);
    expect(again.json.error.code).toBe('key_not_found');
  });

  test('give access to their pools only, and to no other route', async () => {
    const other = await server.call('POST', '/admin/v1/worker-tokens', {
      body: { name: 'elsewhere', pools: ['nowhere'] },
    });
    expect(other.json.error).toMatchObject({
      code: 'invalid_parameter',
      message: expect.stringContaining('nowhere'),
    });
    const foreign = await ask('claims', { pool: 'another' });
    expect([foreign.status, foreign.json.error.code]).toEqual([403, 'insufficient_scope']);
    const report = { slots: { another: 1 }, away: [], running: 0, draining: null };
    expect((await ask('reports', report)).status).toBe(403);
    expect((await server.call('GET', '/api/v1/credits', { token })).status).toBe(401);
    expect((await server.call('GET', '/admin/v1/workers', { token })).status).toBe(401);
    expect((await server.call('POST', '/internal/v1/uploads', { token, body: {} })).status).toBe(401);
  });
});

describe('a claim', () => {
  test('says what to make, but neither whose it is nor what it costs', async () => {
    const waiting = ask('claims', { pool: 'local', wait_seconds: 20 });
    const task = await orderImage(server, customer);
    const { json, text } = await waiting;
    expect(json.data.task).toMatchObject({
      task_id: task,
      attempt: 1,
      kind: 'image',
      order: { prompt: 'a canary in a coal mine', width: 256, height: 256 },
      seed: '7',
    });
    for (const secret of [customer.accountId, customer.account, customer.keyId, customer.hash, 'charge']) {
      expect(text).not.toContain(secret);
    }
    expect(await stateOf(task)).toMatchObject({ worker: 'rented-1:host-1.77' });
  });

  test('is released when its worker disconnects while waiting', async () => {
    const leaving = new AbortController();
    const left = fetch(`${server.url}/worker/v1/claims`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ worker: WORKER, pool: 'local', wait_seconds: 20 }),
      signal: leaving.signal,
    });
    await new Promise((resolve) => setImmediate(resolve));
    leaving.abort();
    await expect(left).rejects.toThrow();
    const task = await orderImage(server, customer);
    expect(await claim()).toMatchObject({ task_id: task });
  });

  test('prefers a model that the worker has loaded, and the skipped task comes next', async () => {
    const image = await orderImage(server, customer);
    const video = await orderVideo(server, customer);
    // both are routed to the same engine under the same model name
    await server.db.database.money.query(
      `UPDATE tasks SET parameters = parameters || '{"upstream_model":"film-xl"}' WHERE id = $1`,
      [parsePublicId('generation', video)],
    );
    const loaded = ['film-xl'];
    const asked = { pool: 'local', wait_seconds: 5, loaded };
    expect((await ask('claims', asked)).json.data.task).toMatchObject({ task_id: video, kind: 'video' });
    expect((await ask('claims', asked)).json.data.task).toMatchObject({ task_id: image, kind: 'image' });
    expect((await ask('claims', { ...asked, loaded: [''] })).status).toBe(400);
  });

  test('goes to one worker per task, however many ask', async () => {
    const asking = Array.from({ length: 8 }, () => claim());
    const ordered = await Promise.all(Array.from({ length: 8 }, () => orderImage(server, customer)));
    const got = await Promise.all(asking);
    expect(got.map(({ task_id }) => task_id).sort()).toEqual(ordered.sort());
  });

  test('keeps only a limited number of workers waiting', async () => {
    const mine = await createToken();
    const leaving = new AbortController();
    const waiting = Array.from({ length: 101 }, () =>
      fetch(`${server.url}/worker/v1/claims`, {
        method: 'POST',
        headers: { authorization: `Bearer ${mine.token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ worker: WORKER, pool: 'local', wait_seconds: 20 }),
        signal: leaving.signal,
      }),
    );
    const refused = await Promise.race(waiting);
    expect(refused.status).toBe(429);
    leaving.abort();
    await Promise.allSettled(waiting);
    expect((await ask('claims', { pool: 'local', wait_seconds: 31 }, mine.token)).status).toBe(400);
  });
});

describe('a claimed task', () => {
  test('can be written only by the worker and with the token that hold it', async () => {
    const task = await orderImage(server, customer);
    const claimed = await claim();
    const other = await createToken();
    const about = { task_id: task, attempt: 1 };
    expect(await step(about, { step: 'canceled' }, other.token)).toBe(false);
    expect(await step(about, { step: 'canceled', worker: 'host-2.77' })).toBe(false);
    expect(await step({ ...about, attempt: 2 }, { step: 'canceled' })).toBe(false);
    const lease = { leases: [{ ...about, progress: 0.5 }] };
    expect((await ask('leases', lease, other.token)).json.data).toEqual([]);
    expect((await ask('leases', lease)).json.data).toEqual([{ ...about, canceled: false }]);
    expect(await step(claimed, { step: 'submitted', reference: 'run-1' })).toBe(true);
    const back = { step: 'returned', reason: 'upstream_error', failures: 1, wait_ms: 0, forget_run: false };
    expect(await step(claimed, back)).toBe(true);
    expect(await stateOf(task)).toMatchObject({ state: 'queued', failures: 1, worker: null });
    expect(await step(claimed, back)).toBe(false);
    expect((await ask('leases', lease)).json.data).toEqual([]);
    expect(await claim()).toMatchObject({ task_id: task, attempt: 2, failures: 1, reference: 'run-1' });
  });

  test('reports a cancellation with the next lease renewal and ends uncharged', async () => {
    const task = await orderImage(server, customer);
    const claimed = await claim();
    const canceled = await server.call('POST', `/api/v1/tasks/${task}/cancel`, { token: customer.secret });
    expect(canceled.status).toBeLessThan(300);
    const lease = { task_id: task, attempt: 1, progress: 0 };
    expect((await ask('leases', { leases: [lease] })).json.data).toMatchObject([{ canceled: true }]);
    expect(await step(claimed, { step: 'canceled' })).toBe(true);
    expect(await stateOf(task)).toMatchObject({ state: 'canceled' });
  });

  test("that fails ends with the worker's message and uncharged", async () => {
    const task = await orderImage(server, customer);
    const claimed = await claim();
    const run = { outcome: 'content_refused', latency_ms: 12, said: 'no lighthouses' };
    const failed = { step: 'failed', code: 'content_refused', message: 'the engine refused the prompt', run };
    expect(await step(claimed, failed)).toBe(true);
    expect(await stateOf(task)).toMatchObject({ state: 'failed', error_code: 'content_refused' });
    const generation = await server.call('GET', `/api/v1/generation?id=${task}`, { token: customer.secret });
    expect(generation.text).not.toContain('no lighthouses');
  });
});

describe('an uploaded file', () => {
  const content = randomBytes(2 * UPLOAD_PART_BYTES + 1_000);
  const sha256 = createHash('sha256').update(content).digest('hex');

  async function put(
    task: { task_id: string; attempt: number },
    offset: number,
    changes: { bytes?: Buffer; query?: Record<string, string>; as?: string } = {},
  ): Promise<Answer> {
    const query = new URLSearchParams({
      ...{ worker: WORKER, task_id: task.task_id, attempt: String(task.attempt), index: '0' },
      ...{ offset: String(offset), bytes: String(content.length), sha256, ...changes.query },
    });
    const response = await fetch(`${server.url}/worker/v1/files?${query}`, {
      method: 'PATCH',
      headers: {
        authorization: `Bearer ${changes.as ?? token}`,
        'content-type': 'application/octet-stream',
      },
      body: changes.bytes ?? content.subarray(offset, offset + UPLOAD_PART_BYTES),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, json: JSON.parse(text) };
  }

  async function uploaded(task: { task_id: string; attempt: number }): Promise<unknown> {
    const query = `worker=${WORKER}&task_id=${task.task_id}&attempt=${task.attempt}&index=0`;
    return (await server.call('GET', `/worker/v1/files?${query}`, { token })).json.data;
  }

  test('resumes where it was cut, is verified, and is stored once', async () => {
    await orderVideo(server, customer);
    const task = await claim();
    expect(await uploaded(task)).toEqual({ held: true, offset: 0, complete: false });
    expect((await put(task, 0)).json.data).toMatchObject({ offset: UPLOAD_PART_BYTES, complete: false });
    // a part whose answer was lost is sent again, and a part that is ahead is ignored
    expect((await put(task, 0)).json.data).toMatchObject({ offset: UPLOAD_PART_BYTES });
    expect((await put(task, 2 * UPLOAD_PART_BYTES)).json.data).toMatchObject({ offset: UPLOAD_PART_BYTES });
    const cut = new AbortController();
    const sending = fetch(
      `${server.url}/worker/v1/files?worker=${WORKER}&task_id=${task.task_id}&attempt=1&index=0&offset=${UPLOAD_PART_BYTES}&bytes=${content.length}&sha256=${sha256}`,
      {
        method: 'PATCH',
        headers: { authorization: `Bearer ${token}` },
        body: new ReadableStream({
          pull(controller) {
            controller.enqueue(content.subarray(UPLOAD_PART_BYTES, UPLOAD_PART_BYTES + 70_000));
            cut.abort();
          },
        }),
        duplex: 'half',
        signal: cut.signal,
      } as RequestInit,
    );
    await expect(sending).rejects.toThrow();
    expect(await uploaded(task)).toEqual({ held: true, offset: UPLOAD_PART_BYTES, complete: false });
    const early = await ask('steps', {
      ...{ task_id: task.task_id, attempt: 1, step: 'generated', outputs: [0], latency_ms: 1 },
    });
    expect(early.json.error).toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining('not uploaded'),
    });
    await put(task, UPLOAD_PART_BYTES);
    expect((await put(task, 2 * UPLOAD_PART_BYTES)).json.data).toMatchObject({ complete: true });
    const { storage } = server.foundation;
    const id = parsePublicId('generation', task.task_id)!;
    const keys: string[] = [];
    for await (const { key } of storage.list(`raw/${id}/`)) {
      keys.push(key);
    }
    expect(keys).toEqual([rawKey(id, 1, 'video', 0)]);
    const chunks: Buffer[] = [];
    for await (const chunk of await storage.read(keys[0]!)) {
      chunks.push(chunk as Buffer);
    }
    expect(createHash('sha256').update(Buffer.concat(chunks)).digest('hex')).toBe(sha256);
    expect(await uploaded(task)).toEqual({ held: true, offset: content.length, complete: true });
    expect(await step(task, { step: 'generated', outputs: [0], latency_ms: 1 })).toBe(true);
    expect(await stateOf(task.task_id)).toMatchObject({ state: 'generated' });
    expect((await put(task, 0)).json.data).toEqual({ held: false, offset: 0, complete: false });
  });

  test('is rejected when it is a different one, too large or another worker’s', async () => {
    await orderVideo(server, customer);
    const task = await claim();
    const wrong = await put(task, 0, { bytes: content.subarray(0, 10), query: { bytes: '10' } });
    expect(wrong.json.error.message).toBe('the uploaded file does not match the announced size and hash');
    expect((await put(task, 0, { bytes: content.subarray(0, 10) })).status).toBe(400);
    expect((await put(task, 0, { query: { bytes: String(2 ** 30) } })).status).toBe(413);
    expect((await put(task, 7)).status).toBe(400);
    const { token: other } = await createToken();
    expect((await put(task, 0, { as: other })).json.data).toMatchObject({ held: false });
    // all parts are there but their checksum is wrong: the upload starts over
    const query = { sha256: '0'.repeat(64) };
    await put(task, 0, { query });
    await put(task, UPLOAD_PART_BYTES, { query });
    expect((await put(task, 2 * UPLOAD_PART_BYTES, { query })).status).toBe(400);
    expect(await uploaded(task)).toEqual({ held: true, offset: 0, complete: false });
  });
});

test('a worker is listed under its token, can be drained, and gets nothing while drained', async () => {
  const report = { slots: { local: 2 }, away: [], running: 0, draining: null };
  expect((await ask('reports', report)).json.data).toEqual({ drained: false });
  const { json } = await server.call('POST', '/admin/v1/workers/rented-1:host-1/drain');
  expect(json.data).toMatchObject([{ worker: 'rented-1:host-1.77', queues: ['generate-local'] }]);
  expect((await ask('reports', report)).json.data).toEqual({ drained: true });
  const task = await orderImage(server, customer);
  expect((await ask('claims', { pool: 'local' })).json.data.task).toBeNull();
  expect(await stateOf(task)).toMatchObject({ state: 'queued' });
  await server.call('POST', '/admin/v1/workers/rented-1:host-1/resume');
  expect(await eventually(async () => await claim())).toMatchObject({ task_id: task });
  await ask('reports', { ...report, slots: {}, leaving: true });
  const listed = await server.call('GET', '/admin/v1/workers');
  expect(listed.json.data).toEqual([]);
});
