import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { Movements } from '../../src/ledger/movements.ts';
import { newUuid } from '../../src/lib/ids.ts';
import { oneCell } from '../../src/store/cells.ts';
import { AlertsStore } from '../../src/webhooks/alerts.store.ts';
import { eventually } from '../factories/eventually.ts';
import { createGeneration } from '../factories/generation.ts';
import { fundedAccount, type TestAccount, testKey, usd } from '../factories/ledger.ts';
import { TaskTest } from '../factories/task-test.ts';

const URL = 'https://shop.example/hooks';
const NEVER = new AbortController().signal;

let it: TaskTest;
let alerts: AlertsStore;
let movements: Movements;

beforeAll(async () => {
  it = await TaskTest.open();
  alerts = new AlertsStore(oneCell(it.database.database));
  movements = new Movements(() => it.pool);
});

afterAll(() => it?.close());

let who: TestAccount;
let unlimited: string;

beforeEach(async () => {
  who = await fundedAccount(it.database.database, '10.00', '4.00');
  unlimited = await testKey(it.database.database, who.accountId);
});

async function spend(charge: string, apiKeyId = unlimited): Promise<void> {
  await createGeneration(it.database.database, { accountId: who.accountId, apiKeyId, charge });
}

async function buy(amount: string): Promise<void> {
  await movements.adjust(
    { accountId: who.accountId, reference: newUuid(), description: 'credits' },
    usd(amount),
  );
}

/** Looks for due alerts, then returns all deliveries recorded so far. */
async function told(): Promise<{ event: string; url: string; facts: Record<string, unknown> }[]> {
  await alerts.tell(NEVER);
  const { rows } = await it.pool.query(
    'SELECT event, url, facts FROM webhook_deliveries WHERE account_id = $1 ORDER BY event',
    [who.accountId],
  );
  return rows;
}

test('sends a low-credit alert once when credits fall below the threshold, and again after they were above it', async () => {
  await alerts.change(who.accountId, { url: URL, creditsLow: usd('8.00') });
  await spend('1.00');
  expect(await told()).toEqual([]);
  await spend('1.00');
  expect(await told()).toEqual([]);
  await spend('0.50');
  const first = {
    event: 'credits.low',
    url: URL,
    facts: expect.objectContaining({ remaining: '7500000000', threshold: '8000000000' }),
  };
  expect(await told()).toEqual([first]);
  await spend('0.50');
  expect(await told()).toHaveLength(1);
  await buy('0.50');
  expect(await told()).toHaveLength(1);
  await buy('2.00');
  expect(await told()).toHaveLength(1);
  await spend('2.00');
  expect(await told()).toHaveLength(2);
});

test('alerts again when credits were above the threshold between two checks', async () => {
  await alerts.change(who.accountId, { url: URL, creditsLow: usd('8.00') });
  await spend('3.00');
  expect(await told()).toHaveLength(1);
  await buy('2.00');
  await spend('2.00');
  expect(await told()).toHaveLength(2);
});

test('sends one alert when several checks run at once', async () => {
  await alerts.change(who.accountId, { url: URL, creditsLow: usd('9.50'), keyLimitNear: 10 });
  await spend('1.00', who.apiKeyId);
  await Promise.all(Array.from({ length: 8 }, () => alerts.tell(NEVER)));
  expect((await told()).map(({ event }) => event)).toEqual(['credits.low', 'key.limit_near']);
});

test('alerts once per limit when a key nears it', async () => {
  await alerts.change(who.accountId, { url: URL, keyLimitNear: 75 });
  await spend('2.99', who.apiKeyId);
  expect(await told()).toEqual([]);
  await spend('0.01', who.apiKeyId);
  expect(await told()).toEqual([
    {
      event: 'key.limit_near',
      url: URL,
      facts: expect.objectContaining({
        name: 'test key',
        limit: '4000000000',
        used: '3000000000',
        share: 75,
      }),
    },
  ]);
  await spend('0.50', who.apiKeyId);
  expect(await told()).toHaveLength(1);
  await it.pool.query('SELECT change_api_key($1, $2, \'{"limit_nano": 8000000000}\')', [
    who.accountId,
    who.apiKeyId,
  ]);
  await spend('1.00', who.apiKeyId);
  expect(await told()).toHaveLength(1);
  await spend('1.50', who.apiKeyId);
  expect(await told()).toHaveLength(2);
});

test('alerts once per period for a limit that renews', async () => {
  await alerts.change(who.accountId, { url: URL, keyLimitNear: 50 });
  await it.pool.query('SELECT change_api_key($1, $2, \'{"limit_reset": "daily"}\')', [
    who.accountId,
    who.apiKeyId,
  ]);
  await spend('2.00', who.apiKeyId);
  expect(await told()).toHaveLength(1);
  // moves the alert to yesterday
  await it.pool.query(
    "UPDATE key_alerts SET counted_from = counted_from - interval '1 day' WHERE api_key_id = $1",
    [who.apiKeyId],
  );
  await spend('0.10', who.apiKeyId);
  expect(await told()).toHaveLength(2);
});

test('alerts about nothing without a URL or a threshold, and checks a new one at once', async () => {
  await spend('3.50', who.apiKeyId);
  await alerts.change(who.accountId, { creditsLow: usd('9.00'), keyLimitNear: 80 });
  expect(await told()).toEqual([]);
  await alerts.change(who.accountId, { url: URL });
  expect((await told()).map(({ event }) => event)).toEqual(['credits.low', 'key.limit_near']);
  await alerts.change(who.accountId, { creditsLow: usd('8.00') });
  expect(await told()).toHaveLength(3);
  await alerts.change(who.accountId, { url: URL, creditsLow: usd('8.00') });
  expect(await told()).toHaveLength(3);
  expect(await alerts.change(who.accountId, { url: null })).toEqual({
    url: null,
    creditsLow: usd('8.00'),
    keyLimitNear: 80,
  });
});

test('posts an alert like a task event: signed, retried, listed', async () => {
  const received: { headers: IncomingHttpHeaders; body: string }[] = [];
  const endpoint: Server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => {
      received.push({ headers: request.headers, body });
      response.writeHead(received.length === 1 ? 500 : 204).end();
    });
  });
  await new Promise<void>((resolve) => endpoint.listen(0, '127.0.0.1', resolve));
  try {
    const url = `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}/alerts`;
    await alerts.change(who.accountId, { url, creditsLow: usd('8.00') });
    await spend('2.25');
    await alerts.tell(NEVER);
    it.stack.start();
    await eventually(async () => received.length === 1);
    await it.pool.query(
      'UPDATE webhook_deliveries SET next_try_at = clock_timestamp() WHERE account_id = $1',
      [who.accountId],
    );
    const [delivery] = await eventually(async () => {
      const found = await it.stack.deliveries.listAlerts(who.accountId);
      return found[0]?.state === 'delivered' ? found : undefined;
    });
    expect(delivery).toMatchObject({ taskId: null, event: 'credits.low', url });
    expect(delivery?.log.map(({ status }) => status)).toEqual([500, 204]);
    const { secret } = await it.stack.secrets.get(who.accountId);
    const [, event] = received;
    expect(new Webhook(secret).verify(event?.body ?? '', event?.headers as Record<string, string>)).toEqual({
      event_type: 'credits.low',
      payload: {
        remaining_credits: '7.75',
        threshold: '8.00',
        currency: 'USD',
        at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      },
    });
  } finally {
    endpoint.closeAllConnections();
    await endpoint[Symbol.asyncDispose]();
  }
});
