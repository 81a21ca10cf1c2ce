import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { publicId } from '../../src/lib/ids.ts';
import { eventually } from '../factories/eventually.ts';
import { submitImage } from '../factories/task-order.ts';
import { TaskTest } from '../factories/task-test.ts';

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly path: string;
}

let it: TaskTest;
let endpoint: Server;
let url: string;
let received: Received[] = [];
/** Statuses of the next answers; 200 when none are left. `0` cuts the connection. */
let answers: number[] = [];

beforeAll(async () => {
  it = await TaskTest.open();
  endpoint = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => {
      received.push({ headers: request.headers, body, path: request.url ?? '' });
      const status = answers.shift() ?? 200;
      if (status === 0) {
        request.socket.destroy();
        return;
      }
      response.writeHead(status, status === 302 ? { location: '/elsewhere' } : {}).end('x'.repeat(200_000));
    });
  });
  await new Promise<void>((resolve) => endpoint.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}/hook`;
  it.stack.start();
});

afterAll(async () => {
  await it?.close();
  endpoint?.closeAllConnections();
  await endpoint?.[Symbol.asyncDispose]();
});

beforeEach(() => {
  received = [];
  answers = [];
});

async function finishedWithWebhook(prompt = 'run=1'): Promise<string> {
  const id = await submitImage(it.stack, it.who, prompt, { webhookUrl: url });
  await it.ended(id);
  return id;
}

async function deliveryOf(id: string) {
  const [delivery] = await it.stack.deliveries.list(it.who.accountId, id);
  if (!delivery) {
    throw new Error('no delivery');
  }
  return delivery;
}

async function inState(id: string, state: string) {
  return await eventually(async () => {
    const delivery = await deliveryOf(id);
    return delivery.state === state ? delivery : undefined;
  });
}

/** Makes the next try due now instead of in some seconds. */
async function hurry(id: string): Promise<void> {
  await it.pool.query('UPDATE webhook_deliveries SET next_try_at = clock_timestamp() WHERE task_id = $1', [
    id,
  ]);
}

test('posts the end of a task once, signed as Standard Webhooks, with the task-result as payload', async () => {
  const id = await finishedWithWebhook();
  const delivery = await inState(id, 'delivered');
  expect(received).toHaveLength(1);
  const [event] = received as [Received];
  const { secret } = await it.stack.secrets.get(it.who.accountId);
  const verified = new Webhook(secret).verify(event.body, event.headers as Record<string, string>);
  expect(verified).toMatchObject({
    event_type: 'ASYNC_TASK_RESULT',
    payload: {
      task: { task_id: publicId('generation', id), status: 'TASK_STATUS_SUCCEED' },
      images: [{ image_url: expect.stringMatching(/^http/) }],
      extra: { charged_amount: '0.005' },
    },
  });
  expect(event.headers['webhook-id']).toBe(publicId('webhookDelivery', delivery.id));
  expect(() =>
    new Webhook(secret).verify(`${event.body} `, event.headers as Record<string, string>),
  ).toThrow();
});

test('posts a failed task, too, but nothing for a task without a webhook', async () => {
  const failed = await finishedWithWebhook('fail=content_refused');
  await inState(failed, 'delivered');
  const silent = await submitImage(it.stack, it.who, 'run=1');
  await it.ended(silent);
  expect(received).toHaveLength(1);
  expect(JSON.parse(received[0]?.body ?? '').payload.task.reason).toBe('CONTENT_REFUSED: no');
  expect(await it.stack.deliveries.list(it.who.accountId, silent)).toEqual([]);
});

test('retries a failing endpoint later with the same id, and logs every try', async () => {
  answers = [500, 0];
  const id = await finishedWithWebhook();
  await eventually(async () => (await deliveryOf(id)).log.length === 1);
  const waiting = await deliveryOf(id);
  expect(waiting.state).toBe('pending');
  const waitMs = waiting.nextTryAt.getTime() - (waiting.log[0]?.at.getTime() ?? 0);
  expect(waitMs).toBeGreaterThanOrEqual(4_900);
  expect(waitMs).toBeLessThanOrEqual(6_100);
  await hurry(id);
  await eventually(async () => (await deliveryOf(id)).log.length === 2);
  await hurry(id);
  const { log } = await inState(id, 'delivered');
  expect(log.map(({ try: number, status, error }) => [number, status, error])).toEqual([
    [1, 500, 'http_500'],
    [2, null, 'connection_failed'],
    [3, 200, null],
  ]);
  expect(new Set(received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
});

test('gives up after the seventh try; a manual redelivery allows one more', async () => {
  answers = [500, 503];
  const id = await finishedWithWebhook();
  await eventually(async () => (await deliveryOf(id)).log.length === 1);
  await it.pool.query('UPDATE webhook_deliveries SET tries = 6 WHERE task_id = $1', [id]);
  await hurry(id);
  const delivery = await inState(id, 'failed');
  expect(await it.stack.deliveries.redeliver(delivery.id, it.who.apiKeyId)).toBe(false);
  expect(await it.stack.deliveries.redeliver(delivery.id, it.who.accountId)).toBe(true);
  const { log } = await inState(id, 'delivered');
  expect(log.map(({ try: number, status }) => [number, status])).toEqual([
    [1, 500],
    [7, 503],
    [8, 200],
  ]);
});

test('stops at once on 410 and does not follow a redirect', async () => {
  answers = [410];
  const gone = await finishedWithWebhook();
  expect((await inState(gone, 'failed')).log).toMatchObject([{ status: 410 }]);
  answers = [302];
  const moved = await finishedWithWebhook();
  await eventually(async () => (await deliveryOf(moved)).log.length === 1);
  expect((await deliveryOf(moved)).log).toMatchObject([{ status: 302, error: 'http_302' }]);
  expect(received.map(({ path }) => path)).toEqual(['/hook', '/hook']);
});

test('verifies with both secrets after a rotation, and signs only with the new one after a day', async () => {
  const { secret: old } = await it.stack.secrets.get(it.who.accountId);
  const { secret: fresh, previousSecret } = await it.stack.secrets.rotate(it.who.accountId);
  expect(previousSecret).toBe(old);
  await inState(await finishedWithWebhook(), 'delivered');
  const [event] = received as [Received];
  for (const secret of [old, fresh]) {
    new Webhook(secret).verify(event.body, event.headers as Record<string, string>);
  }
  await it.pool.query(
    "UPDATE webhook_secrets SET rotated_at = clock_timestamp() - interval '25 hours' WHERE account_id = $1",
    [it.who.accountId],
  );
  received = [];
  await inState(await finishedWithWebhook(), 'delivered');
  const [later] = received as [Received];
  expect(() => new Webhook(old).verify(later.body, later.headers as Record<string, string>)).toThrow();
  new Webhook(fresh).verify(later.body, later.headers as Record<string, string>);
});

test('seals secrets in the database', async () => {
  const { secret } = await it.stack.secrets.get(it.who.accountId);
  const { rows } = await it.pool.query<{ secret: Buffer }>('SELECT secret FROM webhook_secrets');
  expect(rows[0]?.secret.toString('latin1')).not.toContain(secret.slice(6, 30));
});

test('sends one event for a job that runs twice', async () => {
  answers = [500];
  const id = await finishedWithWebhook();
  await eventually(async () => (await deliveryOf(id)).log.length === 1);
  received = [];
  const { id: deliveryId } = await deliveryOf(id);
  await hurry(id);
  const outcomes = await Promise.all(
    Array.from({ length: 5 }, () => it.stack.services.webhooks.deliver(deliveryId)),
  );
  await inState(id, 'delivered');
  expect(outcomes.filter((outcome) => outcome === 'delivered').length).toBeLessThanOrEqual(1);
  expect(received).toHaveLength(1);
});
