import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { newRequestUuid, publicId } from '../../src/lib/ids.ts';
import { runCli } from '../../src/operators/cli/program.ts';
import { type Customer, createCustomer, failTask, orderImage } from './support/customer.ts';
import { ADMIN_TOKEN, type OperatorServer, startOperatorServer } from './support/operator-server.ts';

let server: OperatorServer;
let customer: Customer;
let requestId: string;
let generation: string;

beforeAll(async () => {
  server = await startOperatorServer({ redisDatabase: 11, environment: { TEST_PAYMENTS: 'allow' } });
  customer = await createCustomer(server);
  const name = `Beta_100% ${randomUUID()}`;
  await server.call('PATCH', `/admin/v1/accounts/${customer.account}`, { body: { name } });
  const answer = await server.call('POST', '/api/v1/chat/completions', {
    token: customer.secret,
    body: {
      model: 'tollgate/small',
      messages: [{ role: 'user', content: 'a secret of the customer' }],
      max_completion_tokens: 20,
    },
  });
  expect(answer.status).toBe(200);
  requestId = answer.headers.get('x-request-id')!;
  generation = answer.headers.get('x-generation-id')!;
});
afterAll(() => server?.close());

const search = async (text: string): Promise<{ kind: string; id: string; account_id: string }[]> =>
  (await server.call('GET', `/admin/v1/search?q=${encodeURIComponent(text)}`)).json.data;

async function cli(...args: readonly string[]): Promise<{ code: number; text: string }> {
  let text = '';
  const write = (part: string) => {
    text += part;
  };
  const environment = { TOLLGATE_URL: server.url, ADMIN_TOKEN };
  const surroundings = { environment, stdout: { write }, stderr: { isTTY: false, write } };
  return { code: await runCli(args, surroundings), text };
}

describe('search', () => {
  test('finds a call by its id, its request and its transaction', async () => {
    const found = { kind: 'generation', id: generation, account_id: customer.account };
    expect(await search(generation)).toMatchObject([found]);
    expect(await search(requestId)).toMatchObject([found]);
    const transaction = `txn_U${generation.slice('gen-'.length)}`;
    expect(await search(transaction)).toMatchObject([
      { kind: 'transaction', id: transaction, account_id: customer.account },
    ]);
  });

  test('finds what a request made by its request id, and stores the id only when the caller chose it', async () => {
    const chosen = `${requestId.slice(0, -6)}ABC000`;
    const ask = async () =>
      await server.call('POST', '/api/v1/chat/completions', {
        token: customer.secret,
        headers: { 'x-request-id': chosen },
        body: { model: 'tollgate/small', messages: [{ role: 'user', content: 'hi' }], max_tokens: 5 },
      });
    const made = [await ask(), await ask()].map((answer) => answer.headers.get('x-generation-id')!);
    expect(new Set([...made, generation]).size).toBe(3);
    expect((await search(chosen)).map(({ id }) => id)).toEqual([...made].reverse());
    for (const [id, of] of [
      [generation, requestId],
      [made[1], chosen],
    ]) {
      const { json } = await server.call('GET', `/api/v1/generation?id=${of}`, { token: customer.secret });
      expect(json.data.id).toBe(id);
    }
    const alike = `${requestId.slice(0, -1)}1`;
    expect(await search(alike)).toEqual([]);
    const { status } = await server.call('GET', `/api/v1/generation?id=${alike}`, { token: customer.secret });
    expect(status).toBe(404);
    const { rows } = await server.db.database.money.query(
      'SELECT request_id FROM generations WHERE account_id = (SELECT id FROM accounts ORDER BY id DESC LIMIT 1) ORDER BY id',
    );
    expect(rows.map(({ request_id }) => request_id)).toEqual([null, chosen, chosen]);
  });

  test('finds an account by its id or a part of its name, without wildcards', async () => {
    const found = { kind: 'account', id: customer.account };
    expect(await search(customer.account)).toMatchObject([found]);
    expect(await search('a_100% ')).toMatchObject([found]);
    expect(await search('b_1')).toEqual([]);
    expect(await search('a%%%')).toEqual([]);
  });

  test('finds a key by its hash and its masked secret', async () => {
    const { json } = await server.call('GET', `/admin/v1/accounts/${customer.account}/keys`);
    for (const text of [customer.hash, json.data[0].label]) {
      expect(await search(text)).toMatchObject([{ kind: 'key', id: customer.hash }]);
    }
  });

  test('finds a payment by our id and the provider’s', async () => {
    const { json } = await server.call('POST', '/api/v1/billing/checkout/sessions', {
      token: customer.secret,
      body: { amount: '7.00' },
    });
    expect(await search(json.data.id)).toMatchObject([
      { kind: 'checkout_session', id: json.data.id, account_id: customer.account },
    ]);
    const { rows } = await server.db.database.money.query(
      'SELECT provider_session_id AS id FROM checkout_sessions ORDER BY created_at DESC LIMIT 1',
    );
    expect(await search(rows[0].id)).toMatchObject([{ id: json.data.id }]);
  });

  test('finds nothing for unknown ids and rejects a text that is too short', async () => {
    expect(await search('gen-01JD0000000000000000000000')).toEqual([]);
    expect(await search('req_01JD0000000000000000000000')).toEqual([]);
    expect(await search('ST-000000999')).toEqual([]);
    expect(await search(`'; DROP TABLE accounts; --`)).toEqual([]);
    expect((await server.call('GET', '/admin/v1/search?q=x')).status).toBe(400);
    const { status } = await server.call('GET', '/admin/v1/search?q=acme', { token: customer.secret });
    expect(status).toBe(401);
  });
});

describe('why', () => {
  test('a call shows tokens, prices, attempts and bookings, but never its content', async () => {
    const { json, text } = await server.call('GET', `/admin/v1/generations/${generation}`);
    const record = json.data;
    expect(record).toMatchObject({
      account_id: customer.account,
      request_id: requestId,
      attempts: [{ provider: 'builtin', model: 'builtin-small', outcome: 'ok' }],
      transactions: [{ type: 'usage_charge', amount: { value: `-${record.charged_amount}` } }],
      write_offs: [],
    });
    expect(Number(record.held)).toBeGreaterThanOrEqual(Number(record.charged_amount));
    expect(text).not.toContain('a secret of the customer');
  });

  test('explains a failed task and a refunded charge', async () => {
    const task = await orderImage(server, customer);
    const open = (await server.call('GET', `/admin/v1/generations/${task}`)).json.data;
    expect(open).toMatchObject({ status: 'queued', transactions: [], completed_at: null });
    expect(Number(open.held)).toBeGreaterThan(0);
    await failTask(server, customer, task, false);
    const { json } = await server.call('GET', `/admin/v1/generations/${task}`);
    expect(json.data).toMatchObject({
      status: 'failed',
      charged_amount: '0.00',
      error: { code: 'upstream_unavailable' },
    });
    await server.call('POST', `/admin/v1/accounts/${customer.account}/refunds`, {
      body: { generation_id: generation, description: 'goodwill' },
    });
    const refunded = await server.call('GET', `/admin/v1/generations/${generation}`);
    expect(refunded.json.data.transactions).toMatchObject([
      { type: 'usage_charge' },
      { type: 'refund', actor: 'operator' },
    ]);
  });

  test('the command line explains a call by any of its ids', async () => {
    const transaction = `txn_U${generation.slice('gen-'.length)}`;
    for (const id of [generation, requestId, transaction]) {
      const { code, text } = await cli('why', id);
      expect(code).toBe(0);
      expect(text).toContain(generation);
      expect(text).toContain('builtin-small');
      expect(text).toContain('usage_charge');
    }
    expect(await cli('why', 'req_01JD0000000000000000000000')).toMatchObject({
      code: 1,
      text: expect.stringContaining('tollgate search'),
    });
    expect((await cli('search', customer.account)).text).toContain('Beta_100%');
  });

  test('for a request of an archived month that was not charged, the command line names the month', async () => {
    const owner = new pg.Client({ connectionString: server.db.ownerUrl });
    await owner.connect();
    await owner.query(
      `INSERT INTO call_archives (month_start, month_end, calls, columns, bytes, sha256, dropped_at)
       VALUES ('2025-05-01Z', '2025-06-01Z', 1, '{id}', 1, sha256('x'), now())`,
    );
    const why = async (day: string) =>
      await cli('why', publicId('request', newRequestUuid(Date.parse(`${day}T12:00:00Z`))));
    const [within, after] = [await why('2025-05-31'), await why('2025-06-01')];
    await owner.query('DELETE FROM call_archives');
    await owner.end();
    expect(within).toMatchObject({
      code: 1,
      text: expect.stringContaining('tollgate archive restore 2025-05'),
    });
    expect(after).toMatchObject({ code: 1, text: expect.not.stringContaining('archive') });
  });
});

describe('the support questions', () => {
  const runbook = readFileSync(new URL('../../docs/runbook.md', import.meta.url), 'utf8');
  const [, table = ''] =
    /## Support: twelve questions[\s\S]*?\n\|---\|---\|\n([\s\S]*?)\n\n/.exec(runbook) ?? [];
  const commands = [...table.matchAll(/\| `tollgate ([^`]+)` \|$/gm)].map(([, words = '']) => words);
  const ids = new Map<string, string>();

  beforeAll(async () => {
    const task = await orderImage(server, customer);
    await failTask(server, customer, task, false);
    ids.set('CALL', generation).set('REQUEST', requestId).set('TASK', task).set('REFUNDED', generation);
    ids.set('TRANSACTION', `txn_U${generation.slice('gen-'.length)}`);
    ids.set('ACCOUNT', customer.account).set('TEXT', customer.hash);
  });

  test('there are twelve of them', () => expect(commands).toHaveLength(12));

  test.each(commands)('tollgate %s', async (words) => {
    const { code, text } = await cli(...words.split(' ').map((word) => ids.get(word) ?? word));
    expect({ code, text }).toMatchObject({ code: 0, text: expect.stringMatching(/\S/) });
    if (words === 'why REFUNDED') {
      expect(text).toContain('refund');
    }
    if (words.endsWith('TASK') || words.includes('failed')) {
      expect(text).toContain('upstream_unavailable');
    }
  });
});

test('shows the history of an account as its customer sees it', async () => {
  const generations = await cli('generations', customer.account, '--status', 'completed');
  expect(generations.text).toContain(generation);
  const transactions = await cli('transactions', customer.account, '--type', 'usage_charge');
  expect(transactions.text).toContain('usage_charge');
  expect(transactions.text).not.toContain('credit_purchase');
  expect((await cli('generations', 'acc_01JD0000000000000000000000')).code).toBe(1);
});
