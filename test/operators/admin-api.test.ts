import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parsePublicId } from '../../src/lib/ids.ts';
import { TaskRetryStore } from '../../src/operators/task-retry.store.ts';
import { oneCell } from '../../src/store/cells.ts';
import { whileUnrecordable } from '../factories/unrecordable.ts';
import { type Customer, createCustomer, failTask, orderImage } from './support/customer.ts';
import {
  type Answer,
  type CallOptions,
  type OperatorServer,
  startOperatorServer,
} from './support/operator-server.ts';

let server: OperatorServer;
let who: Customer;

beforeAll(async () => {
  server = await startOperatorServer({ redisDatabase: 9 });
  who = await createCustomer(server);
});
afterAll(() => server?.close());

const admin = (method: string, path: string, options: CallOptions = {}): Promise<Answer> =>
  server.call(method, `/admin/v1${path}`, options);

async function auditOf(object: string): Promise<{ action: string; detail: Record<string, unknown> }[]> {
  return (await admin('GET', `/audit?object=${object}`)).json.data;
}

async function accountNow(customer: Customer): Promise<{ held: string; remaining_credits: string }> {
  return (await admin('GET', `/accounts/${customer.account}`)).json.data;
}

describe('access', () => {
  test.each(['/tasks', '/queues', '/audit', '/accounts', '/webhooks/deliveries'])(
    '%s: open to the operator only',
    async (path) => {
      expect((await admin('GET', path)).status).toBe(200);
      expect((await admin('GET', path, { token: who.secret })).status).toBe(401);
      expect((await admin('GET', path, { token: null })).status).toBe(401);
    },
  );

  test('the operator token gives no access to customer routes', async () => {
    for (const path of [
      '/api/v1/credits',
      '/api/v1/keys',
      '/api/v1/tasks',
      '/v3/async/task-result?task_id=x',
    ]) {
      expect([path, (await server.call('GET', path)).status]).toEqual([path, 401]);
    }
  });
});

describe('tasks', () => {
  test('a task by id shows cost, attempts, engine pool and history, but never the prompt', async () => {
    const id = await orderImage(server, who);
    const { json, text } = await admin('GET', `/tasks/${id}`);
    expect(json.data).toMatchObject({
      id,
      account_id: who.account,
      api_key_hash: who.hash,
      request_id: expect.stringMatching(/^req_/),
      state: 'queued',
      pool: 'local',
      price: '0.005',
      held: '0.005',
      charged: '0.00',
      attempts: 0,
      generation_runs: 0,
      retryable: false,
      history: [{ state: 'queued', attempt: 0, detail: null, at: expect.any(String) }],
    });
    expect(text).not.toContain('canary');
  });

  test('returns 404 for unknown and malformed ids', async () => {
    expect((await admin('GET', '/tasks/gen-01JD0000000000000000000000')).status).toBe(404);
    expect((await admin('GET', '/tasks/nonsense')).status).toBe(404);
    expect((await admin('POST', '/tasks/nonsense/retry')).status).toBe(404);
  });

  test('the list filters by state and account, in pages without gaps', async () => {
    const other = await createCustomer(server);
    const ids: string[] = [];
    for (let index = 0; index < 5; index += 1) {
      ids.unshift(await orderImage(server, other));
    }
    await failTask(server, other, ids[0]!, false);
    const seen: string[] = [];
    let path: string | undefined = `/admin/v1/tasks?account_id=${other.account}&limit=2`;
    while (path !== undefined) {
      const page: Answer = await server.call('GET', path);
      seen.push(...page.json.data.map((task: { id: string }) => task.id));
      path = /<([^>]+)>/.exec(page.headers.get('link') ?? '')?.[1];
    }
    expect(seen).toEqual(ids);
    const failed = await admin('GET', `/tasks?account_id=${other.account}&state=failed`);
    expect(failed.json.data.map((task: { id: string }) => task.id)).toEqual([ids[0]]);
    expect((await admin('GET', '/tasks?state=lost')).status).toBe(400);
    expect((await admin('GET', '/tasks?cursor=x')).json.error.code).toBe('invalid_cursor');
  });
});

describe('retry', () => {
  test('a failed task becomes one new task with a new hold, however often the retry is requested', async () => {
    const customer = await createCustomer(server);
    const id = await orderImage(server, customer);
    await failTask(server, customer, id, true);
    expect((await accountNow(customer)).held).toBe('0.00');
    expect((await admin('GET', `/tasks/${id}`)).json.data.retryable).toBe(true);

    const answers = await Promise.all([1, 2, 3].map(() => admin('POST', `/tasks/${id}/retry`)));
    const again = await admin('POST', `/tasks/${id}/retry`);
    const ids = new Set([...answers, again].map(({ json }) => json.data.id));
    expect(ids.size).toBe(1);
    const [retried] = ids;
    expect(retried).not.toBe(id);
    expect([again.status, again.json.data.created]).toEqual([200, false]);
    expect(await accountNow(customer)).toMatchObject({ held: '0.005', remaining_credits: '10.00' });

    const successor = (await admin('GET', `/tasks/${retried}`)).json.data;
    expect(successor).toMatchObject({ state: 'queued', retry_of: id, price: '0.005', seed: '7' });
    const source = (await admin('GET', `/tasks/${id}`)).json.data;
    expect(source).toMatchObject({ state: 'failed', retried_as: retried, held: '0.00' });
    expect(
      source.history.filter((event: { detail: string }) => event.detail?.startsWith('retried_as')),
    ).toHaveLength(1);
    expect((await auditOf(id)).map(({ action }) => action)).toEqual(Array(4).fill('task.retry'));
  });

  test('does not happen, and holds nothing, if the audit log cannot record it', async () => {
    const customer = await createCustomer(server);
    const id = await orderImage(server, customer);
    await failTask(server, customer, id, true);
    const unrecorded = await whileUnrecordable(server.db.ownerUrl, 'task.retry', () =>
      admin('POST', `/tasks/${id}/retry`),
    );
    expect(unrecorded.status).toBe(500);
    expect((await accountNow(customer)).held).toBe('0.00');
    expect((await admin('GET', `/tasks/${id}`)).json.data).toMatchObject({
      retryable: true,
      retried_as: null,
    });
  });

  test('links a task to its successor once, however many requests write the link at the same time', async () => {
    const customer = await createCustomer(server);
    const store = new TaskRetryStore(oneCell(server.db.database));
    for (let round = 0; round < 10; round += 1) {
      const id = await orderImage(server, customer);
      const uuid = parsePublicId('generation', id)!;
      await Promise.all(Array.from({ length: 8 }, () => store.note(uuid, 'retried_as gen-1')));
      const { history } = (await admin('GET', `/tasks/${id}`)).json.data;
      expect(history.filter(({ detail }: { detail: string }) => detail === 'retried_as gen-1')).toHaveLength(
        1,
      );
    }
  });

  test('a failed retry can itself be retried', async () => {
    const customer = await createCustomer(server);
    const first = await orderImage(server, customer);
    await failTask(server, customer, first, true);
    const second = (await admin('POST', `/tasks/${first}/retry`)).json.data.id;
    await failTask(server, customer, second, true);
    const third = (await admin('POST', `/tasks/${second}/retry`)).json.data.id;
    expect(new Set([first, second, third]).size).toBe(3);
    expect((await accountNow(customer)).held).toBe('0.005');
  });

  test('rejects a retry of a task that has not failed or whose prompt is gone', async () => {
    const waiting = await orderImage(server, who);
    const refused = await admin('POST', `/tasks/${waiting}/retry`);
    expect([refused.status, refused.json.error.code]).toEqual([409, 'task_not_retryable']);
    const forgotten = await orderImage(server, who);
    await failTask(server, who, forgotten, false);
    const answer = await admin('POST', `/tasks/${forgotten}/retry`);
    expect([answer.status, answer.json.error.code]).toEqual([409, 'task_not_retryable']);
    expect(answer.json.error.message).toContain('KEEP_PROMPTS');
    expect(await auditOf(forgotten)).toEqual([]);
  });

  test("rejects a retry when the customer's key is disabled or the money is gone, but never with the operator's 401", async () => {
    const customer = await createCustomer(server);
    const id = await orderImage(server, customer);
    await failTask(server, customer, id, true);
    const keyPath = `/accounts/${customer.account}/keys/${customer.hash}`;
    await admin('PATCH', keyPath, { body: { disabled: true } });
    const refused = await admin('POST', `/tasks/${id}/retry`);
    expect([refused.status, refused.json.error.code]).toEqual([409, 'task_not_retryable']);
    await admin('PATCH', keyPath, { body: { disabled: false } });
    await admin('POST', `/accounts/${customer.account}/adjustments`, {
      body: { amount: '-10.00', description: 'all of it' },
    });
    expect((await admin('POST', `/tasks/${id}/retry`)).json.error.code).toBe('insufficient_credits');
  });
});

describe('keys of an account', () => {
  test('are listed, created, disabled from the very next call, and enabled', async () => {
    const customer = await createCustomer(server);
    const path = `/accounts/${customer.account}/keys`;
    const created = await admin('POST', path, { body: { name: 'spare', role: 'inference' } });
    expect(created.status).toBe(201);
    const listed = (await admin('GET', path)).json.data;
    expect(listed.map((key: { name: string; role: string }) => [key.name, key.role])).toContainEqual([
      'spare',
      'inference',
    ]);
    const use = () => server.call('GET', '/api/v1/credits', { token: created.json.key });
    expect((await use()).status).toBe(200);
    const keyPath = `${path}/${created.json.data.hash}`;
    expect((await admin('PATCH', keyPath, { body: { disabled: true } })).json.data.disabled).toBe(true);
    expect((await use()).json.error.code).toBe('key_disabled');
    await admin('PATCH', keyPath, { body: { disabled: false } });
    expect((await use()).status).toBe(200);
    expect((await auditOf(customer.account)).map(({ action }) => action)).toEqual([
      'key.enable',
      'key.disable',
      'key.create',
    ]);
    expect(JSON.stringify(await auditOf(customer.account))).not.toContain(created.json.key);
  });

  test('returns 404 for a key of another account', async () => {
    const customer = await createCustomer(server);
    const path = `/accounts/${customer.account}/keys/${who.hash}`;
    expect((await admin('PATCH', path, { body: { disabled: true } })).json.error.code).toBe('key_not_found');
    expect((await server.call('GET', '/api/v1/credits', { token: who.secret })).status).toBe(200);
  });
});

describe('queues', () => {
  test('lists every pool of the catalog and the other queues, and pauses and resumes them in Redis itself', async () => {
    const names = (await admin('GET', '/queues')).json.data.map((queue: { name: string }) => queue.name);
    expect(names).toEqual(['generate-local', 'postprocess', 'webhooks', 'maintenance']);
    const paused = await admin('POST', '/queues/webhooks/pause');
    expect(paused.json.data).toMatchObject({ name: 'webhooks', paused: true });
    const listed = (await admin('GET', '/queues')).json.data;
    expect(listed.map((queue: { paused: boolean }) => queue.paused)).toEqual([false, false, true, false]);
    expect((await admin('POST', '/queues/webhooks/resume')).json.data.paused).toBe(false);
    expect((await auditOf('webhooks')).map(({ action }) => action)).toEqual(['queue.resume', 'queue.pause']);
    expect((await admin('POST', '/queues/nothing/pause')).json.error.code).toBe('queue_not_found');
    expect(await auditOf('nothing')).toEqual([]);
  });
});

test('a queue shows how much waits in the database, for how long, and which workers serve it', async () => {
  const { money } = server.db.database;
  const pool = async () => {
    const { data } = (await admin('GET', '/queues')).json;
    return data.find(({ name }: { name: string }) => name === 'generate-local');
  };
  const before = await pool();
  expect(before).toMatchObject({ workers: 0, slots: 0 });
  const id = await orderImage(server, who);
  await money.query(`UPDATE tasks SET created_at = created_at - interval '2 minutes' WHERE id = $1`, [
    parsePublicId('generation', id),
  ]);
  await money.query(
    `INSERT INTO worker_slots (worker, queue, slots, seen_at) VALUES
       ('a', 'generate-local', 2, clock_timestamp()), ('b', 'generate-local', 3, clock_timestamp()),
       ('gone', 'generate-local', 8, clock_timestamp() - interval '1 minute')`,
  );
  const after = await pool();
  expect(after).toMatchObject({ workers: 2, slots: 5, backlog: before.backlog + 1 });
  expect(after.oldest_seconds).toBeGreaterThanOrEqual(120);
  await money.query('DELETE FROM worker_slots');
  await failTask(server, who, id, false);
});

describe('webhooks', () => {
  test('a given-up delivery is retried, and operators see only the origin of its address', async () => {
    const customer = await createCustomer(server);
    const url = 'https://hook.example:8443/canary?token=canary';
    const id = await orderImage(server, customer, { extra: { webhook: { url } } });
    await failTask(server, customer, id, false);
    const { database } = server.db;
    await database.money.query(
      `UPDATE webhook_deliveries SET state = 'failed', tries = 9, next_try_at = clock_timestamp() + interval '1 day'
        WHERE task_id = $1`,
      [parsePublicId('generation', id)],
    );
    const [delivery] = (await admin('GET', `/webhooks/deliveries?task_id=${id}`)).json.data;
    expect(delivery).toMatchObject({ state: 'failed', tries: 9, task_id: id, account_id: customer.account });
    expect(delivery.url).toBe('https://hook.example:8443');
    for (const path of [`/tasks/${id}`, `/search?q=${delivery.id}`, '/audit']) {
      expect((await admin('GET', path)).text).not.toContain('canary');
    }
    const redeliver = () => admin('POST', `/webhooks/deliveries/${delivery.id}/redeliver`);
    expect((await whileUnrecordable(server.db.ownerUrl, 'webhook.redeliver', redeliver)).status).toBe(500);
    expect((await admin('GET', `/webhooks/deliveries?task_id=${id}`)).json.data).toMatchObject([
      { state: 'failed' },
    ]);
    const answer = await redeliver();
    expect(answer.json.data).toMatchObject({ id: delivery.id, state: 'pending' });
    expect(Date.parse(answer.json.data.next_try_at)).toBeLessThanOrEqual(Date.now() + 1_000);
    expect((await auditOf(delivery.id)).map(({ action }) => action)).toEqual(['webhook.redeliver']);
    const missing = await admin('POST', '/webhooks/deliveries/whd_01JD0000000000000000000000/redeliver');
    expect(missing.json.error.code).toBe('delivery_not_found');
  });
});

test('the audit log contains every action once, newest first, in pages without gaps', async () => {
  const customer = await createCustomer(server);
  const path = `/accounts/${customer.account}`;
  await admin('PATCH', path, { body: { suspended: true } });
  await admin('PATCH', path, { body: { suspended: false, allowed_models: ['image-turbo'] } });
  await admin('POST', `${path}/adjustments`, { body: { amount: '1.00', description: 'gift' } });
  const entries = await auditOf(customer.account);
  expect(entries.map(({ action }) => action)).toEqual(['account.adjust', 'account.update', 'account.update']);
  const first = await admin('GET', `/audit?object=${customer.account}&limit=2`);
  const next = /<([^>]+)>/.exec(first.headers.get('link') ?? '')?.[1];
  const second = await server.call('GET', next!);
  expect([...first.json.data, ...second.json.data]).toEqual(entries);
  const updates = await admin('GET', `/audit?object=${customer.account}&action=account.update`);
  expect(updates.json.data).toHaveLength(2);
  expect((await admin('GET', '/audit?operator=me')).status).toBe(400);
});
