import fc from 'fast-check';
import Stripe from 'stripe';
import { StripePayment } from '../../src/billing/payment/stripe.payment.ts';
import { Movements } from '../../src/ledger/movements.ts';
import { newUuid } from '../../src/lib/ids.ts';
import { pendingPaymentEvents } from '../../src/telemetry/state.sql.ts';
import { createAccount } from '../factories/account.ts';
import { createKey } from '../factories/api-key.ts';
import { eventuallyHolds } from '../factories/eventually.ts';
import { usd } from '../factories/ledger.ts';
import { type FakeReversal, StripeContractServer } from './support/stripe-contract-server.ts';
import { ADMIN_TOKEN, startTestServer, type TestServer } from './support/test-server.ts';

const stripe = new StripeContractServer();
let server: TestServer;

beforeAll(async () => {
  const baseUrl = await stripe.start();
  server = await startTestServer({
    payment: {
      kind: 'stripe',
      options: { secretKey: 'sk_test_0123456789', webhookSecret: stripe.secret, baseUrl },
    },
  });
});
afterAll(async () => {
  await server?.close();
  await stripe.stop();
});

interface Buyer {
  readonly secret: string;
  readonly sessionId: string;
  /** Stripe's id of the session. */
  readonly id: string;
}

async function buy(amount = '20.00'): Promise<Buyer> {
  const { secret } = await createKey(
    server.database,
    (await createAccount(server.database, { credits: '0' })).id,
  );
  const body = { amount, currency: 'USD', success_url: 'https://a.example', cancel_url: 'https://a.example' };
  const answer = await server.call('POST', '/api/v1/billing/checkout/sessions', { key: secret, body });
  expect(answer.status).toBe(201);
  return { secret, sessionId: answer.json.data.id, id: answer.json.data.url.split('/').at(-1) };
}

const credits = async ({ secret }: Buyer): Promise<string> =>
  (await server.call('GET', '/api/v1/credits', { key: secret })).json.data.remaining_credits;

const post = ({ body, signature }: { body: string; signature: string }) =>
  server.call('POST', '/webhooks/stripe', { raw: body, headers: { 'stripe-signature': signature } });

/** Makes waiting events due again, as time would, until none are left. */
async function retry(): Promise<void> {
  const { money } = server.database;
  await eventuallyHolds(async () => {
    await money.query('UPDATE webhook_inbox SET next_try_at = clock_timestamp() WHERE processed_at IS NULL');
    await server.sweep(50);
    expect((await money.query('SELECT event_id FROM webhook_inbox WHERE processed_at IS NULL')).rows).toEqual(
      [],
    );
  }, 15_000);
}

test('creates the session at Stripe with our id, our amount and an idempotency key', async () => {
  const buyer = await buy('12.34');
  expect(stripe.sessions.get(buyer.id)).toMatchObject({
    client_reference_id: buyer.sessionId,
    amount_total: 1234,
    currency: 'usd',
  });
  expect(stripe.idempotencyKeys).toContain(buyer.sessionId);
});

test.each<[string, string]>([
  ['before Stripe was asked', `provider_session_id = NULL, url = ''`],
  ['after Stripe was asked', 'url = url'],
])(
  'a request that died %s and is repeated with its Idempotency-Key opens no second session',
  async (_, change) => {
    const { secret, id: accountKey } = await createKey(
      server.database,
      (await createAccount(server.database, { credits: '0' })).id,
    );
    const open = () =>
      server.call('POST', '/api/v1/billing/checkout/sessions', {
        key: secret,
        body: { amount: '20.00', success_url: 'https://a.example', cancel_url: 'https://a.example' },
        headers: { 'idempotency-key': accountKey },
      });
    const first = await open();
    const { money } = server.database;
    await money.query(`UPDATE checkout_sessions SET ${change} WHERE provider_session_id = $1`, [
      first.json.data.url.split('/').at(-1),
    ]);
    await money.query(
      `UPDATE idempotency_keys SET state = 'running', answer = NULL, locked_until = clock_timestamp() WHERE key = $1`,
      [accountKey],
    );
    const again = await open();
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([201, null]);
    expect(again.json.data).toEqual(first.json.data);
    const opened = [...stripe.sessions.values()].filter(
      ({ client_reference_id: reference }) => reference === first.json.data.id,
    );
    expect(opened).toHaveLength(1);
  },
);

test('the event of a paid session credits our amount once', async () => {
  const buyer = await buy();
  const event = stripe.event('checkout.session.completed', stripe.pay(buyer.id));
  expect((await post(event)).status).toBe(200);
  await eventuallyHolds(async () => expect(await credits(buyer)).toBe('20.00'));
  const read = await server.call('GET', `/api/v1/billing/checkout/sessions/${buyer.sessionId}`, {
    key: buyer.secret,
  });
  expect(read.json.data).toMatchObject({ status: 'complete', payment_status: 'paid' });
});

test('does not trust the content of an event: an unpaid session is not credited', async () => {
  const buyer = await buy();
  const lie = {
    ...stripe.sessions.get(buyer.id),
    status: 'complete',
    payment_status: 'paid',
    amount_total: 999_999,
  };
  expect((await post(stripe.event('checkout.session.completed', lie))).status).toBe(200);
  await retry();
  expect(await credits(buyer)).toBe('0.00');
});

test.each<[string, object]>([
  ['another amount', { amount_total: 2001 }],
  ['another currency', { currency: 'eur' }],
  ['another session of ours', { client_reference_id: 'cs_00000000000000000000000000' }],
])('a payment with %s is not credited, and raises an alarm for three days', async (_, changes) => {
  const buyer = await buy();
  const event = stripe.event('checkout.session.completed', stripe.pay(buyer.id, changes));
  await post(event);
  const { money } = server.database;
  await eventuallyHolds(async () => {
    expect(
      (await money.query('SELECT tries, error FROM webhook_inbox WHERE processed_at IS NULL')).rows,
    ).toEqual([{ tries: 1, error: expect.stringMatching(/^(it belongs|paid )/) }]);
  });
  expect((await money.query(pendingPaymentEvents.text)).rows).toMatchObject([{ events: 1 }]);
  expect(await credits(buyer)).toBe('0.00');
  await money.query(
    "UPDATE webhook_inbox SET received_at = now() - interval '73 hours' WHERE processed_at IS NULL",
  );
  await retry();
  expect(await credits(buyer)).toBe('0.00');
});

test('a delayed payment is first complete but unpaid, then paid', async () => {
  const buyer = await buy();
  await post(stripe.event('checkout.session.completed', stripe.pay(buyer.id, { payment_status: 'unpaid' })));
  await retry();
  const status = async () =>
    (await server.call('GET', `/api/v1/billing/checkout/sessions/${buyer.sessionId}`, { key: buyer.secret }))
      .json.data;
  expect(await status()).toMatchObject({ status: 'complete', payment_status: 'unpaid' });
  expect(await credits(buyer)).toBe('0.00');
  await post(stripe.event('checkout.session.async_payment_succeeded', stripe.pay(buyer.id)));
  await retry();
  expect(await credits(buyer)).toBe('20.00');
  expect(await status()).toMatchObject({ status: 'complete', payment_status: 'paid' });
});

test('an expired session is shown as expired', async () => {
  const buyer = await buy();
  const session = stripe.sessions.get(buyer.id);
  Object.assign(session ?? {}, { status: 'expired' });
  await post(stripe.event('checkout.session.expired', session ?? {}));
  await retry();
  const read = await server.call('GET', `/api/v1/billing/checkout/sessions/${buyer.sessionId}`, {
    key: buyer.secret,
  });
  expect(read.json.data).toMatchObject({ status: 'expired', payment_status: 'unpaid' });
});

describe('signatures', () => {
  test.each<[string, (event: { body: string; signature: string }) => { body: string; signature: string }]>([
    [
      'made with another secret',
      () => stripe.event('checkout.session.completed', {}, { secret: 'whsec_another_secret' }),
    ],
    ['made with an empty secret', () => stripe.event('checkout.session.completed', {}, { secret: '' })],
    [
      'that is old',
      () => stripe.event('checkout.session.completed', {}, { at: Math.floor(Date.now() / 1000) - 400 }),
    ],
    ['of another body', (event) => ({ ...event, body: `${event.body} ` })],
    ['that is missing', (event) => ({ ...event, signature: '' })],
  ])('rejects a signature %s and stores nothing', async (_, change) => {
    const before = await inboxSize();
    const answer = await post(change(stripe.event('checkout.session.completed', {})));
    expect([answer.status, answer.json.error.code]).toEqual([400, 'signature_invalid']);
    expect(await inboxSize()).toBe(before);
  });

  test('a thin event says how the endpoint must be set up, and nothing is stored', async () => {
    const before = await inboxSize();
    const payload = JSON.stringify({
      ...{ id: 'evt_thin', object: 'v2.core.event', type: 'v1.charge.refunded', livemode: false },
      related_object: { id: 'ch_1', type: 'charge', url: '/v1/charges/ch_1' },
    });
    const sdk = new Stripe('sk_test_0123456789');
    const signature = sdk.webhooks.generateTestHeaderString({ payload, secret: stripe.secret });
    const answer = await post({ body: payload, signature });
    expect([answer.status, answer.json.error.code]).toEqual([400, 'invalid_request']);
    expect(answer.json.error.message).toContain('snapshot, not thin');
    expect(await inboxSize()).toBe(before);
  });

  test('a weak secret does not start', () => {
    const options = { secretKey: 'sk_test_0123456789', webhookSecret: 'short' };
    expect(() => new StripePayment(options)).toThrow('at least 16');
  });
});

test('processes an event later that arrived while Stripe was down', async () => {
  const buyer = await buy();
  stripe.isDown = true;
  const event = stripe.event('checkout.session.completed', stripe.pay(buyer.id), { id: 'evt_while_away' });
  expect((await post(event)).status).toBe(200);
  await eventuallyHolds(async () => {
    const text = 'SELECT processed_at, error FROM webhook_inbox WHERE event_id = $1';
    const { rows } = await server.database.money.query(text, ['evt_while_away']);
    expect(rows).toEqual([{ processed_at: null, error: expect.any(String) }]);
  }, 20_000);
  stripe.isDown = false;
  expect(await credits(buyer)).toBe('0.00');
  await retry();
  expect(await credits(buyer)).toBe('20.00');
});

test('keeps an event whose session is not known yet', async () => {
  await post(stripe.event('checkout.session.completed', { id: 'cs_test_unknown' }, { id: 'evt_unknown' }));
  await server.sweep(10);
  const { rows } = await server.database.money.query(
    'SELECT processed_at FROM webhook_inbox WHERE event_id = $1',
    ['evt_unknown'],
  );
  expect(rows).toEqual([{ processed_at: null }]);
  // it may be about a sale of something else with the same Stripe account, and must not raise the alarm for days
  await eventuallyHolds(async () => {
    const { rows: waiting } = await server.database.money.query(pendingPaymentEvents.text);
    expect(waiting).toMatchObject([{ events: 0 }]);
  });
  await server.database.money.query("DELETE FROM webhook_inbox WHERE event_id = 'evt_unknown'");
});

test('the sweep finds a session whose event never arrived', async () => {
  const buyer = await buy();
  stripe.pay(buyer.id);
  await server.database.money.query(
    `UPDATE checkout_sessions SET created_at = created_at - interval '11 min' WHERE provider_session_id = $1`,
    [buyer.id],
  );
  await server.sweep(50);
  expect(await credits(buyer)).toBe('20.00');
});

test('a session that Stripe does not know holds up no other, and is shown as expired in the end', async () => {
  const [unknown, buyer] = [await buy(), await buy()];
  stripe.sessions.delete(unknown.id);
  stripe.pay(buyer.id);
  const age = (interval: string) =>
    server.database.money.query(
      `UPDATE checkout_sessions SET created_at = created_at - $2::interval, expires_at = expires_at - $2::interval
        WHERE provider_session_id = ANY ($1)`,
      [[unknown.id, buyer.id], interval],
    );
  const status = async () =>
    (
      await server.call('GET', `/api/v1/billing/checkout/sessions/${unknown.sessionId}`, {
        key: unknown.secret,
      })
    ).json.data.status;
  await age('11 min');
  await server.sweep(50);
  expect(await credits(buyer)).toBe('20.00');
  expect(await status()).toBe('open');
  await age('5 days');
  await server.sweep(50);
  const { rows } = await server.database.money.query(
    'SELECT status, payment_status FROM checkout_sessions WHERE provider_session_id = $1',
    [unknown.id],
  );
  expect(rows).toEqual([{ status: 'expired', payment_status: 'unpaid' }]);
});

describe('an open session of an account that is erased', () => {
  const erase = async ({ secret }: Buyer): Promise<void> => {
    const { json } = await server.call('GET', '/api/v1/key', { key: secret });
    const answer = await server.call('DELETE', `/admin/v1/accounts/${json.data.account_id}`, {
      key: ADMIN_TOKEN,
    });
    expect(answer.status).toBe(200);
  };
  const stored = async ({ id }: Buyer) =>
    (
      await server.database.money.query(
        'SELECT status, payment_status FROM checkout_sessions WHERE provider_session_id = $1',
        [id],
      )
    ).rows[0];

  test('is closed at Stripe by the next sweep, so that nobody can pay it', async () => {
    const [erased, other] = [await buy(), await buy()];
    await erase(erased);
    await server.sweep(50);
    expect(stripe.sessions.get(erased.id)?.status).toBe('expired');
    expect(await stored(erased)).toEqual({ status: 'expired', payment_status: 'unpaid' });
    expect([stripe.sessions.get(other.id)?.status, await stored(other)]).toMatchObject([
      'open',
      { status: 'open' },
    ]);
  });

  test('is credited when it was paid first', async () => {
    const buyer = await buy();
    await erase(buyer);
    stripe.pay(buyer.id);
    await server.sweep(50);
    expect(await stored(buyer)).toEqual({ status: 'complete', payment_status: 'paid' });
  });
});

test('an event of a session that Stripe does not know is kept, and credits once Stripe knows it', async () => {
  const buyer = await buy();
  const session = stripe.pay(buyer.id);
  stripe.sessions.delete(buyer.id);
  await post(stripe.event('checkout.session.completed', session, { id: 'evt_of_unknown' }));
  await eventuallyHolds(async () => {
    const { rows } = await server.database.money.query(
      "SELECT processed_at, error FROM webhook_inbox WHERE event_id = 'evt_of_unknown'",
    );
    expect(rows).toEqual([
      { processed_at: null, error: expect.stringContaining('does not know this session') },
    ]);
  });
  stripe.sessions.set(buyer.id, session);
  await retry();
  expect(await credits(buyer)).toBe('20.00');
});

describe('money that goes back', () => {
  async function paid(): Promise<Buyer & { payment: string }> {
    const buyer = await buy();
    const { payment_intent: payment } = stripe.pay(buyer.id);
    await post(stripe.event('checkout.session.completed', stripe.sessions.get(buyer.id) ?? {}));
    await retry();
    return { ...buyer, payment: payment ?? '' };
  }

  test('books each refund once', async () => {
    const buyer = await paid();
    stripe.refunds.push({
      id: `re_1_${buyer.id}`,
      amount: 500,
      status: 'succeeded',
      payment_intent: buyer.payment,
    });
    for (let index = 0; index < 3; index += 1) {
      await post(stripe.event('charge.refunded', { id: 'ch_1', payment_intent: buyer.payment }));
    }
    await retry();
    expect(await credits(buyer)).toBe('15.00');
    stripe.refunds.push({
      id: `re_2_${buyer.id}`,
      amount: 1500,
      status: 'pending',
      payment_intent: buyer.payment,
    });
    await post(stripe.event('refund.created', { id: 're_2', payment_intent: buyer.payment }));
    await retry();
    expect(await credits(buyer)).toBe('0.00');
    const { json } = await server.call('GET', '/api/v1/billing/balance-transactions?type=refund', {
      key: buyer.secret,
    });
    expect(json.data.map((row: { amount: { value: string } }) => row.amount.value)).toEqual([
      '-15.00',
      '-5.00',
    ]);
    expect(json.data[0].related_checkout_session_id).toBe(buyer.sessionId);
  });

  test('books a refund whose event never arrived once its move is read', async () => {
    const buyer = await paid();
    stripe.refunds.push({
      id: `re_${buyer.id}`,
      amount: 500,
      status: 'succeeded',
      payment_intent: buyer.payment,
    });
    const created = Math.floor(Date.now() / 1_000);
    stripe.moves.unshift({
      id: `txn_${buyer.id}`,
      type: 'refund',
      amount: -500,
      fee: 0,
      currency: 'usd',
      exchange_rate: null,
      created,
      available_on: created,
      source: { id: `re_${buyer.id}`, payment_intent: buyer.payment },
    });
    await server.followMoves();
    await server.followMoves();
    await retry();
    stripe.moves.shift();
    expect(await credits(buyer)).toBe('15.00');
  });

  test('a refund that is first pending and then fails returns the credits, and the next refund is booked in full', async () => {
    const buyer = await paid();
    const refund = { id: `re_1_${buyer.id}`, amount: 700, status: 'pending', payment_intent: buyer.payment };
    stripe.refunds.push(refund);
    await post(stripe.event('refund.created', refund));
    await retry();
    expect(await credits(buyer)).toBe('13.00');
    refund.status = 'failed';
    for (const type of ['refund.failed', 'charge.refund.updated', 'refund.created']) {
      await post(stripe.event(type, refund));
    }
    await retry();
    expect(await credits(buyer)).toBe('20.00');
    stripe.refunds.push({ ...refund, id: `re_2_${buyer.id}`, amount: 2000, status: 'succeeded' });
    await post(stripe.event('charge.refunded', { id: 'ch_1', payment_intent: buyer.payment }));
    await retry();
    expect(await credits(buyer)).toBe('0.00');
    const { rows } = await server.database.money.query(
      'SELECT actor, action, detail FROM audit_log WHERE object = $1 ORDER BY id',
      [buyer.sessionId],
    );
    expect(rows).toEqual(
      [
        ['payment.reverse', { refund: refund.id, amount: '7.00', unbooked: '0.00' }],
        ['payment.reinstate', { refund: refund.id, amount: '7.00' }],
        ['payment.reverse', { refund: `re_2_${buyer.id}`, amount: '20.00', unbooked: '0.00' }],
      ].map(([action, detail]) => ({ actor: 'stripe', action, detail })),
    );
  });

  test("books all refunds of a payment, beyond one page of Stripe's list", async () => {
    const buyer = await paid();
    for (let index = 0; index < 130; index += 1) {
      const id = `re_${index}_${buyer.id}`;
      stripe.refunds.push({ id, amount: 10, status: 'succeeded', payment_intent: buyer.payment });
    }
    await post(stripe.event('charge.refunded', { id: 'ch_1', payment_intent: buyer.payment }));
    await retry();
    expect(await credits(buyer)).toBe('7.00');
  });

  test('does not book a list of refunds that was read before a newer one was booked', async () => {
    const buyer = await paid();
    const refund = { id: `re_1_${buyer.id}`, amount: 700, status: 'pending', payment_intent: buyer.payment };
    stripe.refunds.push(refund);
    let answer: (() => void) | undefined;
    const slow = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const asked = new Promise<void>((resolve) => {
      stripe.gate = async (step) => {
        if (step === 'done') {
          stripe.gate = async () => undefined;
          resolve();
          await slow;
        }
      };
    });
    await post(stripe.event('refund.created', refund, { id: `evt_pending_${buyer.id}` }));
    await asked;
    refund.status = 'failed';
    await post(stripe.event('refund.failed', refund, { id: `evt_failed_${buyer.id}` }));
    const waiting = async () => {
      const text = 'SELECT event_id FROM webhook_inbox WHERE processed_at IS NULL';
      return (await server.database.money.query(text)).rows.map((row) => row.event_id);
    };
    await eventuallyHolds(async () => expect(await waiting()).toEqual([`evt_pending_${buyer.id}`]));
    answer?.();
    await eventuallyHolds(async () => expect(await waiting()).toEqual([]));
    expect(await credits(buyer)).toBe('20.00');
  });

  test('a dispute takes the money, and winning it gives the money back', async () => {
    const buyer = await paid();
    const dispute = {
      id: `dp_${buyer.id}`,
      amount: 2000,
      status: 'needs_response',
      payment_intent: buyer.payment,
    };
    stripe.disputes.push(dispute);
    await post(stripe.event('charge.dispute.created', { id: dispute.id, payment_intent: buyer.payment }));
    await retry();
    expect(await credits(buyer)).toBe('0.00');
    dispute.status = 'won';
    for (let index = 0; index < 2; index += 1) {
      await post(stripe.event('charge.dispute.closed', { id: dispute.id, payment_intent: buyer.payment }));
      await retry();
    }
    expect(await credits(buyer)).toBe('20.00');
  });

  test('a dispute in another currency is never booked as cents of USD, but raises an alarm until its money moved in USD', async () => {
    const buyer = await paid();
    const dispute: FakeReversal = {
      ...{ id: `dp_${buyer.id}`, amount: 1840, currency: 'eur', status: 'needs_response' },
      payment_intent: buyer.payment,
    };
    stripe.disputes.push(dispute);
    await post(stripe.event('charge.dispute.created', { id: dispute.id, payment_intent: buyer.payment }));
    const { money } = server.database;
    await eventuallyHolds(async () => {
      const text = 'SELECT error FROM webhook_inbox WHERE processed_at IS NULL';
      const { rows } = await money.query(text);
      expect(rows).toEqual([
        { error: expect.stringMatching(/dp_.* is in EUR, the payment in USD: book it/) },
      ]);
    });
    expect((await money.query(pendingPaymentEvents.text)).rows).toMatchObject([{ events: 1 }]);
    expect(await credits(buyer)).toBe('20.00');
    // what else takes the payment back is booked, and the alarm stays
    const refund = { id: `re_${buyer.id}`, amount: 500, status: 'succeeded', payment_intent: buyer.payment };
    stripe.refunds.push(refund);
    const reaches = (amount: string) =>
      eventuallyHolds(async () => {
        await money.query('UPDATE webhook_inbox SET next_try_at = now() WHERE processed_at IS NULL');
        await server.sweep(50);
        expect(await credits(buyer)).toBe(amount);
      });
    await reaches('15.00');
    expect((await money.query(pendingPaymentEvents.text)).rows).toMatchObject([{ events: 1 }]);
    refund.status = 'failed';
    await reaches('20.00');
    // the bank's rate made it a little less than the whole payment
    dispute.balance_transactions = [{ amount: -1987, currency: 'usd' }];
    await retry();
    expect(await credits(buyer)).toBe('0.13');
    dispute.balance_transactions.push({ amount: 1987, currency: 'usd' });
    dispute.status = 'won';
    await post(stripe.event('charge.dispute.closed', { id: dispute.id, payment_intent: buyer.payment }));
    await retry();
    expect(await credits(buyer)).toBe('20.00');
  });

  test('winning a dispute first repays the debt that it left, then credits the rest', async () => {
    const buyer = await paid();
    const { money } = server.database;
    const session = await money.query(
      'SELECT account_id FROM checkout_sessions WHERE provider_session_id = $1',
      [buyer.id],
    );
    const accountId: string = session.rows[0].account_id;
    await new Movements(() => money).adjust(
      { accountId, reference: newUuid(), description: 'used' },
      usd('-15'),
    );
    const dispute = { id: `dp_${buyer.id}`, amount: 2000, status: 'lost', payment_intent: buyer.payment };
    stripe.disputes.push(dispute);
    for (const [status, debt, rest] of [
      ['needs_response', '15', '0.00'],
      ['won', '0', '5.00'],
    ] as const) {
      dispute.status = status;
      await post(stripe.event('charge.dispute.updated', { id: dispute.id, payment_intent: buyer.payment }));
      await retry();
      const { rows } = await money.query('SELECT debt FROM balances WHERE account_id = $1', [accountId]);
      expect([rows[0].debt, await credits(buyer)]).toEqual([usd(debt).toString(), rest]);
    }
  });
});

test("a receipt links to Stripe's own invoice or receipt and waits while Stripe is unreachable", async () => {
  const receiptOf = async (changes: Parameters<typeof stripe.pay>[1], isDown = false) => {
    const buyer = await buy();
    await post(stripe.event('checkout.session.completed', stripe.pay(buyer.id, changes)));
    await retry();
    const get = () =>
      fetch(`${server.url}/api/v1/billing/checkout/sessions/${buyer.sessionId}/receipt`, {
        headers: { authorization: `Bearer ${buyer.secret}` },
      });
    stripe.isDown = isDown;
    const first = await get();
    stripe.isDown = false;
    const bytes = Buffer.from(await (isDown ? await get() : first).arrayBuffer()).toString('latin1');
    return { status: first.status, links: bytes.match(/\/URI \((https:[^)]*)\)/g) };
  };
  const invoice = { hosted_invoice_url: 'https://invoice.stripe.test/i' };
  const receipt_url = 'https://pay.stripe.test/r';
  expect(await receiptOf({ invoice, receipt_url })).toEqual({
    status: 200,
    links: ['/URI (https://invoice.stripe.test/i)'],
  });
  expect(await receiptOf({ invoice: null, receipt_url }, true)).toEqual({
    status: 502,
    links: ['/URI (https://pay.stripe.test/r)'],
  });
  expect(await receiptOf({})).toEqual({ status: 200, links: null });
});

test('payments are joined with their fees, dates and payouts by payment id', async () => {
  const buyer = await buy('20.00');
  const { payment_intent } = stripe.pay(buyer.id);
  await post(stripe.event('checkout.session.completed', stripe.sessions.get(buyer.id) ?? {}));
  await retry();
  const now = Math.floor(Date.now() / 1_000);
  const times = { created: now, available_on: now + 86_400 };
  const payment = payment_intent ?? '';
  const move = { currency: 'eur', exchange_rate: 0.92, ...times };
  stripe.moves.push(
    { id: 'txn_3', type: 'payout', amount: -1_700, fee: 0, ...move, source: { id: 'po_1' } },
    {
      id: 'txn_2',
      type: 'charge',
      amount: 500,
      fee: 30,
      ...move,
      source: { id: 'ch_2', payment_intent: 'pi_foreign' },
    },
    {
      id: 'txn_1',
      type: 'charge',
      amount: 1_840,
      fee: 81,
      ...move,
      source: { id: 'ch_1', payment_intent: payment },
    },
  );
  const moves = async () => {
    const range = `start_time=${new Date(Date.now() - 86_400_000).toISOString()}&end_time=${new Date(Date.now() + 60_000).toISOString()}`;
    const { json } = await server.call('GET', `/admin/v1/reports/payouts?${range}`, { key: ADMIN_TOKEN });
    return json.data.find((row: { payment_id: string }) => row.payment_id === payment);
  };
  expect((await moves()).moves).toEqual([]);
  expect(await server.followMoves()).toBe(1);
  const charge = {
    id: 'txn_1',
    kind: 'charge',
    amount: '18.40',
    fee: '0.81',
    net: '17.59',
    currency: 'EUR',
    exchange_rate: 0.92,
    created_at: new Date(times.created * 1_000).toISOString(),
    available_at: new Date(times.available_on * 1_000).toISOString(),
  };
  expect(await moves()).toMatchObject({
    received: '20.00',
    moves: [{ ...charge, payout_id: null, arrives_at: null }],
  });
  const payout = { status: 'in_transit', created: now, arrival_date: now + 172_800 };
  stripe.payouts.push(
    { id: 'po_2', automatic: false, ...payout },
    { id: 'po_1', automatic: true, ...payout },
  );
  Object.assign(stripe.moves[2] ?? {}, { payout: 'po_1' });
  stripe.isDown = true;
  await expect(server.followMoves()).rejects.toMatchObject({ code: 'provider_error' });
  stripe.isDown = false;
  await server.followMoves();
  await server.followMoves();
  const arrives_at = new Date(payout.arrival_date * 1_000).toISOString();
  expect((await moves()).moves).toEqual([{ ...charge, payout_id: 'po_1', arrives_at }]);
});

test('a checkout first pays the debt that a refunded payment left and credits the rest', async () => {
  const buyer = await buy();
  const { payment_intent: payment } = stripe.pay(buyer.id);
  await post(stripe.event('checkout.session.completed', stripe.sessions.get(buyer.id) ?? {}));
  await retry();
  const { money } = server.database;
  const { rows: sessions } = await money.query(
    'SELECT account_id FROM checkout_sessions WHERE provider_session_id = $1',
    [buyer.id],
  );
  const accountId: string = sessions[0].account_id;
  await new Movements(() => money).adjust(
    { accountId, reference: newUuid(), description: 'used' },
    usd('-15'),
  );
  stripe.refunds.push({ id: 're_debt', amount: 2000, status: 'succeeded', payment_intent: payment ?? '' });
  await post(stripe.event('charge.refunded', { id: 'ch_debt', payment_intent: payment }));
  await retry();
  const own = async () => (await server.call('GET', '/api/v1/credits', { key: buyer.secret })).json.data;
  expect(await own()).toMatchObject({ remaining_credits: '0.00', debt: '15.00' });

  const body = {
    amount: '18.00',
    currency: 'USD',
    success_url: 'https://a.example',
    cancel_url: 'https://a.example',
  };
  const again = await server.call('POST', '/api/v1/billing/checkout/sessions', { key: buyer.secret, body });
  const session: string = again.json.data.url.split('/').at(-1);
  await post(stripe.event('checkout.session.completed', stripe.pay(session)));
  await retry();
  expect(await own()).toMatchObject({ remaining_credits: '3.00', debt: '0.00' });
  const { rows } = await money.query(
    'SELECT reason_code, amount FROM ledger_entries WHERE account_id = $1 ORDER BY seq DESC LIMIT 2',
    [accountId],
  );
  expect(rows).toEqual([
    { reason_code: 'debt_repayment', amount: (-usd('15')).toString() },
    { reason_code: 'purchase', amount: usd('18').toString() },
  ]);
});

test('every event 1 to 5 times, shuffled, with forged ones between: one credit per paid session', async () => {
  const buyers = await Promise.all(Array.from({ length: 12 }, () => buy('3.00')));
  const events = buyers.flatMap((buyer, index) => {
    const event = stripe.event(
      'checkout.session.completed',
      index % 4 === 0 ? { id: buyer.id } : stripe.pay(buyer.id),
    );
    return Array.from({ length: 1 + (index % 5) }, () => event);
  });
  const forged = buyers.map((buyer) =>
    stripe.event('checkout.session.completed', { id: buyer.id }, { secret: 'whsec_forged' }),
  );
  const [order = []] = fc.sample(
    fc.shuffledSubarray([...events, ...forged], { minLength: events.length + forged.length }),
    { numRuns: 1, seed: 3 },
  );
  const statuses = (await Promise.all(order.map(post))).map((answer) => answer.status);
  expect(statuses.filter((status) => status === 400)).toHaveLength(forged.length);
  await retry();
  const balances = await Promise.all(buyers.map(credits));
  expect(balances).toEqual(buyers.map((_, index) => (index % 4 === 0 ? '0.00' : '3.00')));
});

async function inboxSize(): Promise<number> {
  return (await server.database.money.query('SELECT 1 FROM webhook_inbox')).rowCount ?? 0;
}
