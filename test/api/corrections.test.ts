import { Movements } from '../../src/ledger/movements.ts';
import { newUuid, publicId } from '../../src/lib/ids.ts';
import { exportBooks } from '../../src/operators/cli/commands/books-export.ts';
import type { LedgerEntryJson } from '../../src/operators/ledger-entries.schema.ts';
import { createKey, type TestKey } from '../factories/api-key.ts';
import { createGeneration } from '../factories/generation.ts';
import { holdRequest, purchaseCredits, settlement, testLedger, usd } from '../factories/ledger.ts';
import { whileUnrecordable } from '../factories/unrecordable.ts';
import { ADMIN_TOKEN, startTestServer, type TestServer } from './support/test-server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server?.close());

interface Customer {
  readonly id: string;
  readonly accountId: string;
  readonly key: TestKey;
}

async function customer(): Promise<Customer> {
  const accountId = newUuid();
  await new Movements(() => server.database.money).openAccount(accountId, 'Acme');
  return {
    id: publicId('account', accountId),
    accountId,
    key: await createKey(server.database, accountId),
  };
}

/** Buys credits on the test page. Returns the reference of the purchase. */
async function purchase({ accountId }: Customer, amount: string): Promise<string> {
  const reference = newUuid();
  await purchaseCredits(server.database, { accountId, reference, description: 'Purchase' }, usd(amount));
  await server.database.money.query(
    `INSERT INTO checkout_sessions (id, account_id, amount, currency, provider, provider_session_id, url, success_url,
       cancel_url, status, payment_status, expires_at, credited_at)
     VALUES ($1::uuid, $2, $3, 'USD', 'test', $1::text, '', '', '', 'complete', 'paid', now(), now())`,
    [reference, accountId, usd(amount).toString()],
  );
  return reference;
}

const admin = (path: string, body: object, idempotencyKey?: string) =>
  server.call('POST', `/admin/v1/${path}`, {
    key: ADMIN_TOKEN,
    body: body as never,
    ...(idempotencyKey && { headers: { 'idempotency-key': idempotencyKey } }),
  });
const own = async ({ key }: Customer, path: string) =>
  (await server.call('GET', `/api/v1/${path}`, { key: key.secret })).json;
const audited = async (object: string) =>
  (await server.call('GET', `/admin/v1/audit?object=${object}`, { key: ADMIN_TOKEN })).json.data;

describe('a repeated Idempotency-Key', () => {
  test('rejects a refund of another generation, marks a replay as such and writes one audit row', async () => {
    const someone = await customer();
    const { id, accountId, key } = someone;
    await purchase(someone, '5.00');
    const generations = await Promise.all(
      ['0.10', '0.20'].map((charge) =>
        createGeneration(server.database, { accountId, apiKeyId: key.id, charge }),
      ),
    );
    const refund = (generation: string | undefined, description = 'late', amount?: string) =>
      admin(
        `accounts/${id}/refunds`,
        { generation_id: publicId('generation', generation ?? ''), description, ...(amount && { amount }) },
        'r-1',
      );
    const [first, again] = [await refund(generations[0]), await refund(generations[0])];
    expect([first.status, again.status]).toEqual([201, 201]);
    expect(first.headers.get('idempotent-replayed')).toBeNull();
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(again.json.data).toEqual(first.json.data);
    for (const other of [
      await refund(generations[1]),
      await refund(generations[0], 'other words'),
      await refund(generations[0], 'late', '0.05'),
      await admin(`accounts/${id}/adjustments`, { amount: '0.10', description: 'late' }, 'r-1'),
    ]) {
      expect([other.status, other.json.error.code]).toEqual([422, 'idempotency_key_reused']);
    }
    const rows = await audited(id);
    expect(rows).toHaveLength(1);
    expect(rows[0]).toMatchObject({
      action: 'account.refund',
      detail: { amount: '0.10', transaction_id: first.json.data.transaction_id, description: 'late' },
    });
    expect(
      (await own(someone, `billing/balance-transactions/${first.json.data.transaction_id}`)).data,
    ).toMatchObject({
      reason_code: 'usage_refund',
      amount: { value: '0.10' },
    });
  });

  test('adjustments compare reason, description and amount; the books record who booked them and by which request', async () => {
    const someone = await customer();
    const path = `accounts/${someone.id}/adjustments`;
    const body = { amount: '1.00', description: 'Compensation outage', reason: 'goodwill' };
    const first = await admin(path, body, 'a-1');
    expect((await admin(path, body, 'a-1')).json.transaction_id).toBe(first.json.transaction_id);
    for (const change of [{ description: 'Referral bonus' }, { amount: '2.00' }]) {
      expect((await admin(path, { ...body, ...change }, 'a-1')).status).toBe(422);
    }
    expect(await audited(someone.id)).toHaveLength(1);
    const { rows } = await server.database.money.query(
      'SELECT amount::text, actor, request_id, reason_code FROM ledger_entries WHERE account_id = $1',
      [someone.accountId],
    );
    expect(rows).toEqual([
      {
        amount: usd('1').toString(),
        actor: expect.stringMatching(/./),
        request_id: expect.stringMatching(/^req_/),
        reason_code: 'goodwill',
      },
    ]);
  });

  test('creates an account once per key with the same secret and rejects another body', async () => {
    const body = { name: 'Once Ltd', credits: '100.00' };
    const [first, again] = [await admin('accounts', body, 'c-1'), await admin('accounts', body, 'c-1')];
    expect([first.status, again.status]).toEqual([201, 201]);
    expect([again.json.key, again.json.data.id]).toEqual([first.json.key, first.json.data.id]);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect((await admin('accounts', { ...body, credits: '1.00' }, 'c-1')).status).toBe(422);
    const [entry, ...others] = await audited(first.json.data.id);
    expect(others).toEqual([]);
    expect(entry.detail).toMatchObject({
      credits: '100.00',
      transaction_id: expect.stringMatching(/^txn_A/),
    });
  });
});

test('does not book anything when the audit row cannot be written', async () => {
  const someone = await customer();
  const body = { amount: '1.00', description: 'x' };
  const answer = await whileUnrecordable(server.test.ownerUrl, 'account.adjust', () =>
    admin(`accounts/${someone.id}/adjustments`, body),
  );
  expect(answer.status).toBe(500);
  expect((await own(someone, 'credits')).data.remaining_credits).toBe('0.00');
});

describe('a key that an operator creates', () => {
  test('is in the audit log, also the second owner key of an account whose first response was lost', async () => {
    const body = { name: 'Twice Ltd' };
    const { data } = (await admin('accounts', body, 'c-lost')).json;
    await server.database.money.query(
      `UPDATE idempotency_keys SET state = 'running', locked_until = clock_timestamp() - interval '1 s' WHERE key = 'c-lost'`,
    );
    const again = await admin('accounts', body, 'c-lost');
    expect([again.status, again.json.data.id]).toEqual([201, data.id]);
    const key = await admin(`accounts/${data.id}/keys`, { name: 'app' });
    const [app, owner, opened, ...others] = await audited(data.id);
    expect(app).toMatchObject({
      action: 'key.create',
      detail: { hash: key.json.data.hash, role: 'inference' },
    });
    expect(owner).toMatchObject({ action: 'key.create', actor: opened.actor, detail: { role: 'owner' } });
    expect(opened.action).toBe('account.create');
    expect(others).toEqual([]);
  });

  test('does not exist without its row in the audit log', async () => {
    const someone = await customer();
    const answer = await whileUnrecordable(server.test.ownerUrl, 'key.create', () =>
      admin(`accounts/${someone.id}/keys`, { name: 'unseen' }),
    );
    expect(answer.status).toBe(500);
    const keys = await server.call('GET', `/admin/v1/accounts/${someone.id}/keys`, { key: ADMIN_TOKEN });
    expect(keys.json.data.map(({ name }: { name: string }) => name)).not.toContain('unseen');
  });
});

describe('the debt left when a reversed payment exceeds the balance', () => {
  let someone: Customer;

  beforeAll(async () => {
    someone = await customer();
    const reference = await purchase(someone, '20.00');
    await createGeneration(server.database, {
      accountId: someone.accountId,
      apiKeyId: someone.key.id,
      charge: '12.00',
    });
    const [bought] = (await own(someone, 'billing/balance-transactions?type=credit_purchase')).data;
    expect(bought.related_checkout_session_id).toBe(publicId('checkoutSession', reference));
    for (const [amount, fromBalance, debt] of [
      ['15.00', '8.00', '7.00'],
      ['5.00', '0.00', '5.00'],
    ]) {
      const body = { transaction_id: bought.id, amount, description: 'Chargeback' };
      const { json } = await admin(`accounts/${someone.id}/refunds`, body);
      expect(json.data).toMatchObject({ amount, from_balance: fromBalance, debt });
      expect(
        (await own(someone, `billing/balance-transactions/${json.data.transaction_id}`)).data.amount.value,
      ).toBe(`-${amount}`);
    }
  });

  test('appears in the entries, the statement and the credits, and in the error message', async () => {
    expect((await own(someone, 'credits')).data).toMatchObject({ remaining_credits: '0.00', debt: '12.00' });
    const [draft] = (await own(someone, 'billing/invoices')).data;
    expect(draft).toMatchObject({
      refund_total: '-20.00',
      adjustment_total: '12.00',
      closing_balance: '0.00',
    });
    const { rows } = await server.database.money.query(
      `SELECT contra::text, sum(amount)::text AS total FROM ledger_entries WHERE account_id = $1 GROUP BY contra ORDER BY contra::text`,
      [someone.accountId],
    );
    expect(rows).toEqual([
      { contra: 'cash_clearing', total: '0' },
      { contra: 'receivable', total: usd('12').toString() },
      { contra: 'revenue', total: usd('-12').toString() },
    ]);
  });

  test('is repaid by what a running call gives back', async () => {
    const other = await customer();
    await purchase(other, '20.00');
    const hold = holdRequest({ accountId: other.accountId, apiKeyId: other.key.id }, usd('10.00'));
    const ledger = testLedger(server.database);
    await ledger.reserve(hold);
    const [bought] = (await own(other, 'billing/balance-transactions')).data;
    const takenBack = { transaction_id: bought.id, amount: '20.00', description: 'Chargeback' };
    expect((await admin(`accounts/${other.id}/refunds`, takenBack)).json.data.debt).toBe('10.00');
    await ledger.settle(settlement(hold, usd('1.00')));
    expect((await own(other, 'account')).data).toMatchObject({
      remaining_credits: '0.00',
      debt: '1.00',
      available: '0.00',
    });
    const [repaid, charged] = (await own(other, 'billing/balance-transactions')).data;
    expect([charged.amount.value, repaid.amount.value, repaid.description]).toEqual([
      '-1.00',
      '-9.00',
      'Repayment of a debt',
    ]);
  });

  test('can be paid in part by bank and the rest forgiven, but never more than is owed', async () => {
    const path = `accounts/${someone.id}/debt`;
    const paid = await admin(path, { kind: 'paid', amount: '10.00', description: 'Transfer' }, 'd-1');
    expect([paid.status, paid.json.data.amount]).toEqual([201, '10.00']);
    expect(
      (await admin(path, { kind: 'paid', amount: '10.00', description: 'Transfer' }, 'd-1')).headers.get(
        'idempotent-replayed',
      ),
    ).toBe('true');
    expect(
      (await admin(path, { kind: 'forgiven', amount: '10.00', description: 'Transfer' }, 'd-1')).status,
    ).toBe(422);
    const tooMuch = await admin(path, { kind: 'forgiven', amount: '2.01', description: 'Lost' });
    expect([tooMuch.status, tooMuch.json.error.message]).toEqual([
      400,
      expect.stringContaining('owes 2.00 USD'),
    ]);
    const forgiven = await admin(path, { kind: 'forgiven', description: 'Lost' });
    expect(forgiven.json.data.amount).toBe('2.00');
    expect((await own(someone, 'credits')).data.debt).toBe('0.00');
    const reasons = (await own(someone, 'billing/balance-transactions?type=adjustment')).data.map(
      (row: { reason_code: string; amount: { value: string } }) => `${row.reason_code} ${row.amount.value}`,
    );
    expect(reasons).toEqual([
      'debt_repayment -2.00',
      'write_off 2.00',
      'debt_repayment -10.00',
      'bank_payment 10.00',
      'debt 5.00',
      'debt 7.00',
    ]);
  });
});

describe('the ledger entries of all accounts', () => {
  const all = async (limit: number): Promise<LedgerEntryJson[]> => {
    const rows: LedgerEntryJson[] = [];
    let path: string | undefined = `/admin/v1/ledger/entries?limit=${limit}`;
    while (path) {
      const answer: Awaited<ReturnType<typeof server.call>> = await server.call('GET', path, {
        key: ADMIN_TOKEN,
      });
      rows.push(...answer.json.data);
      path = /^<(.+)>; rel="next"$/.exec(answer.headers.get('link') ?? '')?.[1];
    }
    return rows;
  };

  test('are the same for any page size and add up to the balances', async () => {
    const entries = await all(3);
    expect(entries).toEqual(await all(1000));
    const total = entries.reduce((sum, { amount }) => sum + usd(amount.value), 0n);
    const { rows } = await server.database.money.query('SELECT sum(posted)::text AS total FROM balances');
    expect(total.toString()).toBe(rows[0].total);
  });

  async function* pagesOf(entries: LedgerEntryJson[]) {
    yield entries.slice(0, 2);
    yield entries.slice(2);
  }

  test.each(['csv', 'hledger', 'beancount'] as const)('contain every entry once as %s', async (format) => {
    const entries = await all(1000);
    let text = '';
    for await (const chunk of exportBooks(pagesOf(entries), format)) {
      text += chunk;
    }
    for (const { id } of entries) {
      expect(text.split(id)).toHaveLength(2);
    }
  });
});

test('an erased account is given nothing, but what it has left can be taken back', async () => {
  const someone = await customer();
  await purchase(someone, '5.00');
  const adjust = (amount: string, key: string) =>
    admin(`accounts/${someone.id}/adjustments`, { amount, description: 'late' }, key);
  expect((await adjust('1.00', 'before')).status).toBe(201);
  const erased = await server.call('DELETE', `/admin/v1/accounts/${someone.id}`, { key: ADMIN_TOKEN });
  expect(erased.status).toBe(200);
  const refused = await adjust('1.00', 'after');
  expect([refused.status, refused.json.error]).toMatchObject([
    404,
    { code: 'account_not_found', message: expect.stringContaining('erased') },
  ]);
  const replayed = await adjust('1.00', 'before');
  expect([replayed.status, replayed.headers.get('idempotent-replayed')]).toEqual([201, 'true']);
  const taken = await adjust('-6.00', 'taken');
  expect([taken.status, taken.json.data.remaining_credits]).toEqual([201, '0.00']);
});
