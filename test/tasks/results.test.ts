import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Movements } from '../../src/ledger/movements.ts';
import { publicId } from '../../src/lib/ids.ts';
import { TASK_RESULT } from '../../src/tasks/task-result.presenter.ts';
import { createKey } from '../factories/api-key.ts';
import { eventually } from '../factories/eventually.ts';
import { customer, submitImage } from '../factories/task-order.ts';
import { startTaskServer, type TaskServer } from '../factories/task-server.ts';
import { TaskTest } from '../factories/task-test.ts';

let it: TaskTest;
let server: TaskServer;
let foreignKey: string;
let inferenceKey: { id: string; secret: string };

beforeAll(async () => {
  it = await TaskTest.open();
  const { secret } = await createKey(it.database.database, it.who.accountId);
  inferenceKey = await createKey(it.database.database, it.who.accountId, { role: 'inference' });
  const foreigner = await customer(it.database.database);
  foreignKey = (await createKey(it.database.database, foreigner.accountId)).secret;
  server = await startTaskServer(it, secret);
});

afterAll(async () => {
  await server?.close();
  await it?.close();
});

async function result(id: string, options: Parameters<TaskServer['call']>[2] = {}) {
  return await server.call('GET', `/v3/async/task-result?task_id=${publicId('generation', id)}`, options);
}

async function finished(prompt = 'run=1', changes: Parameters<typeof submitImage>[3] = {}): Promise<string> {
  const running = it.stack.start();
  const id = await submitImage(it.stack, it.who, prompt, changes);
  await it.ended(id);
  await running.close();
  return id;
}

test('returns a waiting task as queued, with its place in the queue and when to ask again', async () => {
  const first = await submitImage(it.stack, it.who, 'run=1');
  const second = await submitImage(it.stack, it.who, 'run=1');
  const { status, headers, json } = await result(second);
  expect(status).toBe(200);
  expect(headers.get('retry-after')).toBe('2');
  expect(TASK_RESULT.parse(json)).toEqual(json);
  expect(json).toMatchObject({
    task: {
      task_id: publicId('generation', second),
      task_type: 'TXT_TO_IMG',
      status: 'TASK_STATUS_QUEUED',
      reason: '',
      eta: 0,
      progress_percent: 0,
    },
    images: [],
    videos: [],
    audios: [],
    extra: { seed: '42', queue_position: 2, charged_amount: '0.00', expires_at: null },
  });
  for (const id of [first, second]) {
    await server.call('POST', `/api/v1/tasks/${publicId('generation', id)}/cancel`);
  }
});

test('returns the place of a task that waits inside its engine, until it runs', async () => {
  const id = await submitImage(it.stack, it.who, 'run=1');
  const held = await it.stack.claims.claim(id, 'generating', 'test', 60_000);
  const lease = { id, attempt: held?.attempt ?? 0, progress: 0 };
  await it.stack.claims.renew([{ ...lease, queuePosition: 3 }], 60_000);
  expect((await result(id)).json).toMatchObject({
    task: { status: 'TASK_STATUS_PROCESSING' },
    extra: { queue_position: 3 },
  });
  await it.stack.claims.renew([lease], 60_000);
  expect((await result(id)).json.extra.queue_position).toBeNull();
  await it.stack.claims.giveBack({ ...lease, failures: 0, waitMs: 0, forgetRun: true, reason: 'test' });
  await server.call('POST', `/api/v1/tasks/${publicId('generation', id)}/cancel`);
});

test('returns a finished task with 100 %, its cost, a fresh URL at each read and no Retry-After', async () => {
  const id = await finished();
  const [one, two] = [await result(id), await result(id)];
  expect(TASK_RESULT.parse(one.json)).toEqual(one.json);
  expect(one.headers.get('retry-after')).toBeNull();
  expect(one.json).toMatchObject({
    task: { status: 'TASK_STATUS_SUCCEED', progress_percent: 100, eta: 0 },
    images: [{ image_url: expect.stringMatching(/^http/), image_url_ttl: '3600', image_type: 'png' }],
    videos: [],
    extra: { charged_amount: '0.005', queue_position: null, expires_at: expect.any(String) },
  });
  expect(one.json.extra.debug_info.complete_time_ms).toMatch(/^\d{13}$/);
  expect(one.json.images[0].image_url).not.toBe(two.json.images[0].image_url);
});

test('returns every state in a form readable by clients that parse times, TTLs and the seed as integers', async () => {
  const integers = ({ extra, images }: typeof ended.json): string[] => [
    extra.seed,
    extra.debug_info.submit_time_ms,
    extra.debug_info.execute_time_ms,
    extra.debug_info.complete_time_ms,
    ...images.map((image: { image_url_ttl: string }) => image.image_url_ttl),
  ];
  const ended = await result(await finished());
  const failed = await result(await finished('fail=content_refused'));
  const id = await submitImage(it.stack, it.who, 'run=1');
  const queued = await result(id);
  await it.stack.claims.claim(id, 'generating', 'w', 60_000);
  const running = await result(id);
  await server.call('POST', `/api/v1/tasks/${publicId('generation', id)}/cancel`);
  const canceled = await result(id);
  for (const { json } of [ended, failed, queued, running, canceled]) {
    expect(integers(json).filter((text) => !/^\d+$/.test(text))).toEqual([]);
  }
});

test('returns failed and canceled tasks as FAILED with the reason, at the progress they had', async () => {
  const failed = await finished('fail=content_refused');
  const { task } = (await result(failed)).json;
  expect(task).toMatchObject({ status: 'TASK_STATUS_FAILED', reason: 'CONTENT_REFUSED: no' });
  // as when it ran: it never decreases. More than 1 when a heartbeat saw its run
  expect(task.progress_percent).toBeGreaterThanOrEqual(1);
  expect(task.progress_percent).toBeLessThan(100);
  const id = await submitImage(it.stack, it.who, 'run=1');
  await server.call('POST', `/api/v1/tasks/${publicId('generation', id)}/cancel`);
  expect((await result(id)).json.task).toMatchObject({
    status: 'TASK_STATUS_FAILED',
    reason: 'TASK_CANCELED: canceled by client',
    progress_percent: 0,
  });
});

test('still counts a task on its second attempt as processing, and keeps its progress', async () => {
  const id = await submitImage(it.stack, it.who, 'run=1');
  await it.stack.claims.claim(id, 'generating', 'w', 60_000);
  await it.stack.claims.renew([{ id, attempt: 1, progress: 0.5 }], 60_000);
  expect((await result(id)).json.task).toMatchObject({
    status: 'TASK_STATUS_PROCESSING',
    progress_percent: 50,
  });
  await it.stack.claims.giveBack({ id, attempt: 1, failures: 1, waitMs: 0, forgetRun: true, reason: 'x' });
  expect((await result(id)).json.task).toMatchObject({
    status: 'TASK_STATUS_PROCESSING',
    progress_percent: 50,
  });
  await server.call('POST', `/api/v1/tasks/${publicId('generation', id)}/cancel`);
});

test('shows customers only runs of the generation as attempts, not its post-processing', async () => {
  const attempts = async () =>
    (await server.call('GET', `/api/v1/tasks/${publicId('generation', id)}`)).json.data.attempts;
  const healthy = await finished();
  const { json } = await server.call('GET', `/api/v1/tasks/${publicId('generation', healthy)}`);
  expect(json.data).toMatchObject({ status: 'succeeded', attempts: 1 });

  const id = await submitImage(it.stack, it.who, 'run=1');
  expect(await attempts()).toBe(0);
  await it.stack.claims.claim(id, 'generating', 'w', 60_000);
  expect(await attempts()).toBe(1);
  await it.stack.claims.giveBack({ id, attempt: 1, failures: 1, waitMs: 0, forgetRun: true, reason: 'x' });
  await it.stack.claims.claim(id, 'generating', 'w', 60_000);
  expect(await attempts()).toBe(2);
  await it.stack.claims.giveBack({ id, attempt: 2, failures: 1, waitMs: 0, forgetRun: true, reason: 'x' });
  await server.call('POST', `/api/v1/tasks/${publicId('generation', id)}/cancel`);
});

test('answers the same for unknown, foreign and malformed ids', async () => {
  const id = publicId('generation', await finished());
  const ask = async (taskId: string, key?: string) => {
    const headers = { 'x-request-id': 'same' };
    return await server.call('GET', `/v3/async/task-result?task_id=${taskId}`, {
      headers,
      ...(key ? { key } : {}),
    });
  };
  const foreign = await ask(id, foreignKey);
  const unknown = await ask('gen-01JD0000000000000000000000');
  const malformed = await ask('42');
  expect(foreign.status).toBe(404);
  expect(foreign.json.reason).toBe('TASK_NOT_FOUND');
  expect([unknown.json, malformed.json]).toEqual([foreign.json, foreign.json]);
});

test.each(['', '?task_id=', '?task_id=%20', '?task=x'])(
  'task-result%s returns a 400 that names the field',
  async (query) => {
    const { status, json } = await server.call('GET', `/v3/async/task-result${query}`);
    expect(status).toBe(400);
    expect(Object.keys(json.metadata)[0]).toMatch(/^task/);
  },
);

test('holds the answer until the end with Prefer: wait, and no longer than asked', async () => {
  const id = await submitImage(it.stack, it.who, 'run=150');
  const startedAt = Date.now();
  const early = await result(id, { headers: { prefer: 'respond-async, wait=1' } });
  expect(early.json.task.status).toBe('TASK_STATUS_QUEUED');
  expect(Date.now() - startedAt).toBeGreaterThanOrEqual(950);
  const waiting = result(id, { headers: { prefer: 'wait=20' } });
  const running = it.stack.start();
  expect((await waiting).json.task.status).toBe('TASK_STATUS_SUCCEED');
  expect(Date.now() - startedAt).toBeLessThan(10_000);
  await running.close();
});

test('also holds the native view of a task with Prefer: wait', async () => {
  const id = await submitImage(it.stack, it.who, 'run=150');
  const task = (seconds: number) =>
    server.call('GET', `/api/v1/tasks/${publicId('generation', id)}`, {
      headers: { prefer: `wait=${seconds}` },
    });
  const startedAt = Date.now();
  const early = await task(1);
  expect(early.json.data.status).toBe('queued');
  expect(early.headers.get('preference-applied')).toBe('wait=1');
  expect(Date.now() - startedAt).toBeGreaterThanOrEqual(950);
  const waiting = task(20);
  const running = it.stack.start();
  expect((await waiting).json.data.status).toBe('succeeded');
  expect(Date.now() - startedAt).toBeLessThan(10_000);
  await running.close();
});

test('shows an inference key only the tasks it submitted', async () => {
  const mine = await server.call('POST', '/v3/async/image-turbo', {
    body: { prompt: 'x' },
    key: inferenceKey.secret,
  });
  const others = await submitImage(it.stack, it.who, 'run=1');
  const list = await server.call('GET', '/api/v1/tasks', { key: inferenceKey.secret });
  expect(list.json.data.map((task: { id: string }) => task.id)).toEqual([mine.json.task_id]);
  expect((await result(others, { key: inferenceKey.secret })).status).toBe(404);
});

test('lists the newest first, with filters and pages that meet without a gap', async () => {
  const ids = [];
  for (let index = 0; index < 5; index += 1) {
    ids.push(publicId('generation', await submitImage(it.stack, it.who, 'run=1')));
    // of two in the same millisecond, neither is before the other
    const submittedAt = Date.now();
    await eventually(async () => Date.now() > submittedAt);
  }
  const seen: string[] = [];
  let path: string | undefined = '/api/v1/tasks?status=queued&model=image-turbo&limit=2';
  while (path !== undefined) {
    const page = await server.call('GET', path);
    seen.push(...page.json.data.map((task: { id: string }) => task.id));
    path = /<([^>]+)>; rel="next"/.exec(page.headers.get('link') ?? '')?.[1];
  }
  expect(seen.slice(0, 5)).toEqual(ids.reverse());
  expect(new Set(seen).size).toBe(seen.length);
  const later = await server.call('GET', '/api/v1/tasks?created_after=2100-01-01T00:00:00Z');
  expect(later.json.data).toEqual([]);
  const some = async (query: string) => (await server.call('GET', `/api/v1/tasks?${query}`)).json.data;
  const [newest] = await some('limit=1');
  expect((await some(`created_before=${newest.created_at}&limit=1`))[0].id).toBe(ids[1]);
  expect((await some(`kind=image&api_key_hash=${newest.api_key_hash}&limit=1`))[0].id).toBe(newest.id);
  expect(await some('kind=video')).toEqual([]);
  expect(await some(`api_key_hash=${'f'.repeat(64)}`)).toEqual([]);
  expect((await some('status=queued,%20failed&limit=1'))[0].id).toBe(newest.id);
  expect(await some('status=processing,generated')).toEqual([]);
  expect((await server.call('GET', '/api/v1/tasks?status=queued,done')).status).toBe(400);
  const misspelt = await server.call('GET', '/api/v1/tasks?state=queued');
  expect(misspelt.status).toBe(400);
});

test('links a task to its files and returns its parameters, both alone and in the list; not once they are gone', async () => {
  const id = await finished();
  const alone = async () =>
    (await server.call('GET', `/api/v1/tasks/${publicId('generation', id)}`)).json.data;
  const inList = async (query = '') =>
    (await server.call('GET', `/api/v1/tasks${query}`)).json.data.find(
      (task: { id: string }) => task.id === publicId('generation', id),
    );
  const task = await alone();
  // the storage of these tests signs a new URL each time
  const content_url = expect.stringMatching(/^http:\/\/media\.test\/acct\/.*original/);
  expect(await inList()).toEqual({ ...task, content_url });
  const seconds = Number(new URL(task.content_url).searchParams.get('ttl'));
  expect(seconds).toBeGreaterThan(900);
  expect(seconds).toBeLessThanOrEqual(1_800);
  // these tasks are made without thumbnails
  expect(task).toMatchObject({ content_url, thumbnail_url: null, poster_url: null });
  expect(task.parameters).toEqual({ width: 512, height: 512, steps: null, seconds: null });
  const noLinks = { content_url: null, thumbnail_url: null, poster_url: null };
  expect(await inList('?limit=101')).toMatchObject(noLinks);
  await it.pool.query('UPDATE tasks SET media_expires_at = clock_timestamp() WHERE id = $1', [id]);
  expect(await alone()).toMatchObject(noLinks);
});

test('redirects content to a fresh URL, with 409 before the end, 410 after expiry and 404 for missing files', async () => {
  const id = await finished();
  const content = (query = '') =>
    server.call('GET', `/api/v1/tasks/${publicId('generation', id)}/content${query}`);
  const found = await content();
  expect(found.status).toBe(302);
  expect(found.headers.get('location')).toMatch(/^http:\/\/media\.test\/acct\//);
  expect((await content('?index=1')).status).toBe(404);
  expect((await content('?variant=poster')).status).toBe(404);
  const waiting = publicId('generation', await submitImage(it.stack, it.who, 'run=1'));
  const early = await server.call('GET', `/api/v1/tasks/${waiting}/content`);
  expect([early.status, early.json.error.code]).toEqual([409, 'task_not_finished']);
  await server.call('POST', `/api/v1/tasks/${waiting}/cancel`);
  const never = await server.call('GET', `/api/v1/tasks/${waiting}/content`);
  expect([never.status, never.json.error.code]).toEqual([404, 'media_not_found']);
  await it.pool.query('UPDATE tasks SET media_expires_at = clock_timestamp() WHERE id = $1', [id]);
  expect((await content()).status).toBe(410);
});

test('deletes expired media; the task stays readable and answers without it', async () => {
  const id = await finished();
  const key = (await it.stack.reads.listOutputs([id])).get(id)?.[0]?.storageKey ?? '';
  expect(await it.stack.storage.stat(key)).toBeDefined();
  await it.pool.query('UPDATE tasks SET media_expires_at = clock_timestamp() WHERE id = $1', [id]);
  expect(await it.stack.services.retention.expireMedia(new AbortController().signal)).toBeGreaterThanOrEqual(
    1,
  );
  expect(await it.stack.storage.stat(key)).toBeUndefined();
  const { json } = await result(id);
  expect(json).toMatchObject({ task: { status: 'TASK_STATUS_SUCCEED' }, images: [] });
});

test('erasing an account deletes the files of its tasks', async () => {
  const other = await customer(it.database.database);
  const running = it.stack.start();
  const id = await submitImage(it.stack, other, 'run=1');
  await it.ended(id);
  await running.close();
  const key = (await it.stack.reads.listOutputs([id])).get(id)?.[0]?.storageKey ?? '';
  expect(await it.stack.storage.stat(key)).toBeDefined();
  const movements = new Movements(() => it.database.database.money);
  expect(await movements.eraseAccount(other.accountId, { actor: 'operator', request_id: null })).toBe(true);
  await it.stack.services.retention.expireMedia(new AbortController().signal);
  expect(await it.stack.storage.stat(key)).toBeUndefined();
});

test('erasing an account cancels its open tasks and tells nobody', async () => {
  const other = await customer(it.database.database);
  const webhookUrl = 'https://example.com/hook?token=personal';
  const ended = await submitImage(it.stack, other, 'fail=content_refused', { webhookUrl });
  const running = it.stack.start();
  await it.ended(ended);
  await running.close();
  const waiting = await submitImage(it.stack, other, 'a waiting picture', { webhookUrl });
  const movements = new Movements(() => it.database.database.money);
  await movements.eraseAccount(other.accountId, { actor: 'operator', request_id: null });
  await it.stack.services.sweeps.sweep();
  const read = 'SELECT state, parameters, webhook_url FROM tasks WHERE account_id = $1 ORDER BY created_at';
  expect((await it.pool.query(read, [other.accountId])).rows).toEqual([
    { state: 'failed', parameters: null, webhook_url: null },
    {
      state: 'canceled',
      parameters: expect.not.objectContaining({ prompt: expect.anything() }),
      webhook_url: null,
    },
  ]);
  const events = 'SELECT FROM webhook_deliveries WHERE account_id = $1';
  expect((await it.pool.query(events, [other.accountId])).rows).toEqual([]);
  expect(await it.charges(waiting)).toEqual([]);
});

test('deletes rows of tasks that ended long ago, but not live or recent ones', async () => {
  const old = await finished();
  const recent = await finished();
  await it.pool.query(
    `UPDATE tasks SET completed_at = clock_timestamp() - interval '31 days', media_deleted_at = clock_timestamp()
      WHERE id = $1`,
    [old],
  );
  // enough rows for more than one DELETE
  await it.pool.query(
    `INSERT INTO tasks SELECT r.* FROM tasks t, generate_series(1, 2500) n,
            LATERAL jsonb_populate_record(t, jsonb_build_object('id', md5(t.id || ' ' || n)::uuid)) r WHERE t.id = $1`,
    [old],
  );
  expect(await it.stack.services.retention.expireTasks(new AbortController().signal)).toBe(2_501);
  expect((await result(old)).status).toBe(404);
  expect((await result(recent)).status).toBe(200);
});

test('deletes task and files, keeps the charge, and rejects a task that still runs', async () => {
  const id = await finished();
  const key = (await it.stack.reads.listOutputs([id])).get(id)?.[0]?.storageKey ?? '';
  const path = `/api/v1/tasks/${publicId('generation', id)}`;
  expect((await server.call('DELETE', path, { key: foreignKey })).status).toBe(404);
  expect((await server.call('DELETE', path)).json.data).toEqual({
    id: publicId('generation', id),
    deleted: true,
  });
  expect(await it.stack.storage.stat(key)).toBeUndefined();
  expect((await result(id)).status).toBe(404);
  expect(await it.charges(id)).toHaveLength(1);
  const live = publicId('generation', await submitImage(it.stack, it.who, 'run=1'));
  expect((await server.call('DELETE', `/api/v1/tasks/${live}`)).status).toBe(409);
});

test('cancels over HTTP: 202 while it runs, then canceled with nothing charged', async () => {
  const running = it.stack.start();
  const id = await submitImage(it.stack, it.who, 'run=60000');
  await it.inState(id, 'generating');
  const path = `/api/v1/tasks/${publicId('generation', id)}`;
  const asked = await server.call('POST', `${path}/cancel`);
  expect({ status: asked.status, data: asked.json.data.status }).toEqual({
    status: 202,
    data: 'cancel_requested',
  });
  await eventually(async () => (await server.call('GET', path)).json.data.status === 'canceled');
  const again = await server.call('POST', `${path}/cancel`);
  await running.close();
  expect({ status: again.status, data: again.json.data.status }).toEqual({ status: 200, data: 'canceled' });
  expect((await server.call('GET', path)).json.data).toMatchObject({
    charged_amount: '0.00',
    estimated_amount: '0.005',
    error: { code: 'task_canceled' },
  });
});

test('a delivery that is not there is not found as such, whatever its id looks like', async () => {
  for (const id of ['foo', 'whd_01JD0000000000000000000000']) {
    const { status, json } = await server.call('POST', `/api/v1/webhooks/deliveries/${id}/redeliver`);
    expect([status, json.error.code]).toEqual([404, 'delivery_not_found']);
  }
});
