import { newUuid, parsePublicId, publicId } from '../../src/lib/ids.ts';
import { createAccount } from '../factories/account.ts';
import { createKey, type TestKey } from '../factories/api-key.ts';
import type { Answer } from './support/answer.types.ts';
import { startTestServer, type TestServer } from './support/test-server.ts';

const PATH = '/api/v1/billing/checkout/sessions';
let server: TestServer;
let owner: TestKey;

beforeAll(async () => {
  server = await startTestServer();
  owner = await createKey(server.database, (await createAccount(server.database, { credits: '0' })).id);
});
afterAll(() => server?.close());

const body = {
  amount: '25.00',
  currency: 'usd',
  success_url: 'https://shop.example/paid?s={CHECKOUT_SESSION_ID}',
  cancel_url: 'http://localhost:3000/cart',
};
const create = (changes: object = {}, headers = {}): Promise<Answer> =>
  server.call('POST', PATH, { key: owner.secret, body: { ...body, ...changes }, headers });
const credits = async (): Promise<string> =>
  (await server.call('GET', '/api/v1/credits', { key: owner.secret })).json.data.remaining_credits;

function page(id: string, form?: string): Promise<Response> {
  return fetch(`${server.url}/checkout/${id}`, {
    redirect: 'manual',
    ...(form !== undefined && {
      method: 'POST',
      body: form,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    }),
  });
}

test('a session is opened, shown and paid once, and its purchase appears', async () => {
  const created = await create();
  expect(created.status).toBe(201);
  const { data } = created.json;
  expect(data).toEqual({
    id: expect.stringMatching(/^cs_[0-9A-Z]{26}$/),
    url: `http://localhost:8080/checkout/${data.id}`,
    status: 'open',
    payment_status: 'unpaid',
    amount_total: '25.00',
    currency: 'USD',
  });
  const shown = await (await page(data.id)).text();
  expect(shown).toContain('$25.00');
  expect(shown).not.toContain('<script');

  const before = await credits();
  const paid = await page(data.id, 'card=accepted');
  expect([paid.status, paid.headers.get('location')]).toEqual([
    303,
    `https://shop.example/paid?s=${data.id}`,
  ]);
  for (let index = 0; index < 3; index += 1) {
    expect((await page(data.id, 'card=accepted')).status).toBe(303);
  }
  expect([before, await credits()]).toEqual(['0.00', '25.00']);
  const read = await server.call('GET', `${PATH}/${data.id}`, { key: owner.secret });
  expect(read.json.data).toEqual({ ...data, status: 'complete', payment_status: 'paid' });
  const { json } = await server.call('GET', '/api/v1/billing/balance-transactions?type=credit_purchase', {
    key: owner.secret,
  });
  expect(json.data).toEqual([
    expect.objectContaining({
      amount: { value: '25.00', currency: 'USD' },
      related_checkout_session_id: data.id,
    }),
  ]);
});

test('20 simultaneous payments of one session credit it once', async () => {
  const before = Number(await credits());
  const { id } = (await create({ amount: '2.00' })).json.data;
  const answers = await Promise.all(Array.from({ length: 20 }, () => page(id, 'card=accepted')));
  expect(new Set(answers.map((answer) => answer.status))).toEqual(new Set([303]));
  expect(Number(await credits())).toBe(before + 2);
});

test('a declined card costs nothing and can be retried', async () => {
  const { id } = (await create()).json.data;
  const before = await credits();
  const declined = await page(id, 'card=declined');
  expect(declined.status).toBe(402);
  expect(await declined.text()).toContain('role="alert"');
  expect(await credits()).toBe(before);
  expect((await page(id, 'card=accepted')).status).toBe(303);
});

test('an expired session cannot be paid', async () => {
  const { id } = (await create()).json.data;
  const uuid = parsePublicId('checkoutSession', id);
  await server.database.money.query(
    `UPDATE checkout_sessions SET expires_at = now() - interval '1 s' WHERE id = $1`,
    [uuid],
  );
  const before = await credits();
  expect((await page(id)).status).toBe(410);
  expect((await page(id, 'card=accepted')).status).toBe(410);
  expect(await credits()).toBe(before);
  expect((await server.call('GET', `${PATH}/${id}`, { key: owner.secret })).json.data.status).toBe('expired');
  await server.sweep(10);
  const { rows } = await server.database.money.query('SELECT status FROM checkout_sessions WHERE id = $1', [
    uuid,
  ]);
  expect(rows).toEqual([{ status: 'expired' }]);
});

test('the page escapes what it shows and restricts where its form may lead', async () => {
  const { id } = (await create({ cancel_url: 'https://shop.example/"><script>alert(1)</script>' })).json.data;
  const response = await page(id);
  expect(await response.text()).not.toContain('<script>');
  const policy = response.headers.get('content-security-policy') ?? '';
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("form-action 'self' https://shop.example https://shop.example;");
  expect(policy).toContain("frame-ancestors 'none'");
});

test.each(['cs_x', publicId('checkoutSession', newUuid())])(
  'returns 404 for %s, as a page and as JSON',
  async (id) => {
    const response = await page(id);
    expect([response.status, response.headers.get('content-type')]).toEqual([
      404,
      'text/html; charset=utf-8',
    ]);
    expect((await page(id, 'card=accepted')).status).toBe(404);
    const answer = await server.call('GET', `${PATH}/${id}`, { key: owner.secret });
    expect([answer.status, answer.json.error.code]).toEqual([404, 'checkout_session_not_found']);
  },
);

describe('request bodies', () => {
  test.each<[object, string]>([
    [{ amount: '0.99' }, 'invalid_parameter'],
    [{ amount: '10000.01' }, 'invalid_parameter'],
    [{ amount: '1.005' }, 'invalid_parameter'],
    [{ amount: '-5' }, 'invalid_parameter'],
    [{ amount: '1e3' }, 'invalid_parameter'],
    [{ amount: 25 }, 'invalid_parameter'],
    [{ amount: undefined }, 'invalid_parameter'],
    [{ currency: 'EUR' }, 'unsupported_currency'],
    [{ success_url: 'http://shop.example' }, 'invalid_parameter'],
    [{ success_url: 'javascript:alert(1)' }, 'invalid_parameter'],
    [{ cancel_url: '/cart' }, 'invalid_parameter'],
    [{ cancel_url: 'https://user:pass@shop.example' }, 'invalid_parameter'],
  ])('rejects %j', async (changes, code) => {
    const answer = await create(changes);
    expect([answer.status, answer.json.error.code]).toEqual([400, code]);
  });

  test('return addresses are optional', async () => {
    expect((await create({ success_url: undefined, cancel_url: undefined })).status).toBe(201);
  });
});

test('the same Idempotency-Key opens one session', async () => {
  const headers = { 'idempotency-key': 'one-session' };
  const first = await create({}, headers);
  const second = await create({}, headers);
  expect(second.json.data).toEqual(first.json.data);
  expect(second.headers.get('idempotent-replayed')).toBe('true');
});

test('sessions of another account are reported as missing', async () => {
  const { id } = (await create()).json.data;
  const foreign = await createKey(server.database, (await createAccount(server.database)).id);
  expect((await server.call('GET', `${PATH}/${id}`, { key: foreign.secret })).status).toBe(404);
});

test('without a payment provider there is nothing to buy and no payment page', async () => {
  const closed = await startTestServer({ payment: { kind: 'none' } });
  const key = await createKey(closed.database, (await createAccount(closed.database)).id);
  const answer = await closed.call('POST', PATH, { key: key.secret, body });
  expect([answer.status, answer.json.error.code]).toEqual([503, 'service_unavailable']);
  expect((await closed.call('GET', '/checkout/cs_x')).json.error.code).toBe('route_not_found');
  await closed.close();
});

describe('the result page after payment', () => {
  const result = (id: string, query = '') => fetch(`${server.url}/checkout/${id}/result${query}`);

  async function opened(): Promise<string> {
    const created = await server.call('POST', PATH, { key: owner.secret, body: { amount: '3.00' } });
    return created.json.data.id;
  }

  test('is where a buyer lands by default and says that the credits were added', async () => {
    const id = await opened();
    const paid = await page(id, 'card=accepted');
    expect(paid.headers.get('location')).toBe(`http://localhost:8080/checkout/${id}/result`);
    const shown = await result(id);
    expect([shown.status, shown.headers.get('refresh')]).toEqual([200, null]);
    expect(await shown.text()).toMatch(/Payment received.*\$3\.00/s);
  });

  test('says after a cancellation that nothing was paid and links back to the payment', async () => {
    const id = await opened();
    expect(await (await page(id)).text()).toContain(`/checkout/${id}/result?canceled=1`);
    const text = await (await result(id, '?canceled=1')).text();
    expect(text).toContain('Nothing was paid.');
    expect(text).toContain(`href="http://localhost:8080/checkout/${id}"`);
  });

  test('refreshes itself until the provider has confirmed the payment', async () => {
    const shown = await result(await opened());
    expect([shown.status, shown.headers.get('refresh')]).toEqual([200, '5']);
    expect(await shown.text()).toContain('Confirming your payment');
  });

  test('returns 404 for an unknown checkout', async () => {
    const shown = await result('cs_00000000000000000000000000');
    expect(shown.status).toBe(404);
    expect(await shown.text()).toContain('There is no such checkout');
  });
});
