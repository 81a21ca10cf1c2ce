import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Movements } from '../../src/ledger/movements.ts';
import { newUuid, publicId } from '../../src/lib/ids.ts';
import { runCli } from '../../src/operators/cli/program.ts';
import { ADMIN_TOKEN, startTestServer, type TestServer } from '../api/support/test-server.ts';
import { createKey } from '../factories/api-key.ts';
import { eventuallyHolds } from '../factories/eventually.ts';
import { createGeneration } from '../factories/generation.ts';
import { atTime } from '../factories/history.ts';
import { fundedAccount, purchaseCredits, usd } from '../factories/ledger.ts';

/** Asks every question that docs/books.md answers with a command, and expects the right answer. */

const DAY_MS = 86_400_000;
const GUIDE = fileURLToPath(new URL('../../docs/books.md', import.meta.url));

let server: TestServer;
let account: string;
let accountId: string;

/**
 * Granted 5.00, bought 20.00, used 12.00. 65 days ago a 20.00 payment was reversed, which left a debt of 7.00; 2.00 were forgiven, 3.00
 * paid by bank.
 */
beforeAll(async () => {
  server = await startTestServer();
  const { test, database } = server;
  const reference = newUuid();
  await atTime(test.url, database, '-70 days', async (then) => {
    const opened = await fundedAccount(then, '5.00');
    accountId = opened.accountId;
    account = publicId('account', accountId);
    await purchaseCredits(then, { accountId, reference, description: 'Purchase of credits' }, usd('20.00'));
    await createGeneration(then, { ...opened, model: 'acme/small', charge: '12.00' });
    await then.money.query(
      `INSERT INTO checkout_sessions (id, account_id, amount, currency, provider, provider_session_id, payment_id, url, success_url,
         cancel_url, status, payment_status, expires_at, credited_at)
       VALUES ($1::uuid, $2, $3, 'USD', 'stripe', $1::text, 'pi_1', '', '', '', 'complete', 'paid', ledger_now(), ledger_now())`,
      [reference, accountId, usd('20.00').toString()],
    );
  });
  await atTime(test.url, database, '-65 days', async (then) => {
    const reversal = { accountId, reference: newUuid(), description: 'Chargeback' };
    await new Movements(() => then.money).reversePayment(reversal, reference, usd('20.00'));
  });
});
afterAll(() => server?.close());

async function tollgate(...args: readonly string[]): Promise<{ code: number; text: string }> {
  let text = '';
  const write = (part: string) => {
    text += part;
  };
  const code = await runCli(args, {
    environment: { TOLLGATE_URL: server.url, ADMIN_TOKEN },
    stdout: { write },
    stderr: { isTTY: false, write },
  });
  return { code, text };
}

const day = (ago: number) => new Date(Date.now() - ago * DAY_MS).toISOString();
const period = () => ['--from', day(100), '--to', day(-1)];

/** The command of each row in the guide, its arguments here and the expected answer, in the order of the guide. */
const ANSWERS: readonly [command: string, ask: () => readonly string[], answer: () => RegExp][] = [
  ['ledger verify', () => [], () => /books are correct: 17 invariants hold/],
  ['books deferred', () => ['--at', day(68)], () => /Customer credits +13\.00 USD\nReceivable +0\.00 USD/],
  ['books debts', () => ['--at', day(-1)], () => new RegExp(`${account}.* 2\\.00 .* 2\\.00`)],
  [
    'books manual',
    period,
    () => /write_off +2\.00 +operator +A good customer[\s\S]*bank_payment +3\.00 +operator +Transfer/,
  ],
  ['books margin', period, () => /acme\/small +1 +0 +1 +12\.00 +0\.00 +0\.00 +12\.00/],
  ['books write-offs', period, () => /debt_forgiven +1 +2\.00/],
  ['books payouts', period, () => /stripe +pi_1 .*20\.00 +20\.00 +0\.00 +0\.00/],
  [
    'books credits',
    period,
    () => new RegExp(`${account} +0\\.00 +7\\.00 +7\\.00 +0\\.00 +0\\.00 +5\\.00 +5\\.00 +0\\.00`),
  ],
  ['prices', () => ['--model', 'acme/none', '--at', day(0)], () => /Nothing found/],
  [
    'audit',
    () => ['--action', 'debt.forgive', '-n', 'all'],
    () => new RegExp(`operator +debt\\.forgive +${account}.*A good customer`),
  ],
  ['books export', () => [...period(), '--format', 'hledger'], () => /Assets:Receivable:\S+ +-?2\.00 USD/],
  ['statements list', () => [account], () => /void[\s\S]*Another name|Another name[\s\S]*void/],
  ['accounts erase', () => [account, '--yes'], () => /Name +erased\nState +erased 20/],
];

test('a debt can be forgiven in part and paid by bank in part', async () => {
  const forgiven = await tollgate('debt', 'forgive', account, '-a', '2.00', '-d', 'A good customer', '-y');
  expect(forgiven).toMatchObject({ code: 0, text: expect.stringMatching(/^2\.00 USD forgiven as txn_/) });
  const paid = await tollgate('debt', 'paid', account, '-a', '3.00', '-d', 'Transfer', '-y');
  expect(paid).toMatchObject({ code: 0, text: expect.stringMatching(/^3\.00 USD paid as txn_/) });
  const tooMuch = await tollgate('debt', 'paid', account, '-a', '2.01', '-d', 'Transfer', '-y');
  expect(tooMuch).toMatchObject({ code: 1, text: expect.stringContaining('owes 2.00 USD') });
});

test('statements are closed, listed and reissued', async () => {
  await server.database.money.query('SELECT close_months($1)', [accountId]);
  const month = day(70).slice(0, 7);
  const missing = await tollgate('statements', 'reissue', account, '2020-01', '-r', 'x');
  expect(missing).toMatchObject({ code: 1, text: expect.stringContaining('invoice_not_found') });
  expect((await tollgate('statements', 'reissue', account, month, '-r', 'Another name')).code).toBe(0);
  const { text } = await tollgate('statements', 'list', account);
  expect(text).toMatch(new RegExp(`${month} +2 .* paid .*Another name`));
  expect(text).toMatch(new RegExp(`${month} +1 .* void `));
});

test('exports the audit log of a period for a spreadsheet, the same as the API', async () => {
  const { code, text } = await tollgate('audit', '--from', day(1), '--to', day(-1), '--csv');
  expect(code).toBe(0);
  expect(text).toMatch(/^id,at,actor,action,object,request_id,detail\r\n/);
  expect(text).toMatch(/,operator,debt\.forgive,acc_\w+,req_\w+,"\{.*""amount"": ?""2\.00""/);
  expect(
    (await tollgate('audit', '--from', day(3), '--to', day(2), '--csv')).text.split('\r\n'),
  ).toHaveLength(2);
  const path = `/admin/v1/audit?start_time=${day(1)}&end_time=${day(-1)}`;
  const answer = await server.call('GET', path, { key: ADMIN_TOKEN, headers: { accept: 'text/csv' } });
  expect(answer.text).toBe(text);
  const none = await server.call('GET', `/admin/v1/audit?end_time=${day(1)}`, { key: ADMIN_TOKEN });
  expect(none.json.data).toEqual([]);
});

test('names a wrong option as it was typed', async () => {
  const wrong = await tollgate('audit', '--from', 'nonsense');
  expect(wrong).toMatchObject({ code: 1, text: expect.stringMatching(/ --from: must be an RFC 3339 time/) });
  const turned = await tollgate('audit', '--from', day(1), '--to', day(3));
  expect(turned).toMatchObject({ code: 1, text: expect.stringContaining('--from: must not be after --to') });
});

test('the guide answers these questions with one command each', () => {
  const [, table = ''] =
    /\| Question \| Command[^\n]*\n([\s\S]*?)\n\n/.exec(readFileSync(GUIDE, 'utf8')) ?? [];
  const commands = table
    .split('\n')
    .flatMap((row) => /\| `tollgate ([a-z]+(?: [a-z-]+)?)/.exec(row)?.[1] ?? []);
  const known = commands.map((command) => command.replace(/^(prices|audit) .*/, '$1'));
  expect(known).toEqual(ANSWERS.map(([command]) => command));
});

test.each(ANSWERS)('tollgate %s', async (command, ask, answer) => {
  const { code, text } = await tollgate(...command.split(' '), ...ask());
  expect(text).toMatch(answer());
  expect(code).toBe(0);
});

test('an erased customer remains only in documents, while calls and books are unchanged', async () => {
  const { money } = server.database;
  const { rows } = await money.query(
    `SELECT DISTINCT name, label, deleted_at IS NOT NULL AS gone FROM api_keys WHERE account_id = $1`,
    [accountId],
  );
  expect(rows).toEqual([{ name: 'erased', label: 'erased', gone: true }]);
  const log = await money.query(`SELECT actor, action, detail FROM audit_log WHERE action = 'account.erase'`);
  expect(log.rows).toEqual([{ actor: 'operator', action: 'account.erase', detail: {} }]);
  expect((await tollgate('ledger', 'verify')).text).toMatch(/books are correct/);
  expect((await tollgate('books', 'margin', ...period())).text).toMatch(/12\.00/);
  expect(await tollgate('accounts', 'erase', publicId('account', newUuid()), '--yes')).toMatchObject({
    code: 1,
    text: expect.stringContaining('account_not_found'),
  });
  expect((await tollgate('accounts', 'erase', account)).code).toBe(2);
});

test('an erased account has no working key', async () => {
  const { accountId: other, apiKeyId } = await fundedAccount(server.database, '1.00');
  const { secret } = await createKey(server.database, other);
  const read = () => server.call('GET', '/api/v1/credits', { key: secret });
  expect((await read()).status).toBe(200);
  expect((await tollgate('accounts', 'erase', publicId('account', other), '--yes')).code).toBe(0);
  const { rows } = await server.database.money.query('SELECT deleted_at FROM api_keys WHERE id = $1', [
    apiKeyId,
  ]);
  expect(rows[0].deleted_at).not.toBeNull();
  await eventuallyHolds(async () => expect((await read()).status).toBe(401));
});

test('an erased account stays closed', async () => {
  const { accountId: other } = await fundedAccount(server.database, '1.00');
  const id = publicId('account', other);
  expect((await tollgate('accounts', 'erase', id, '--yes')).code).toBe(0);
  for (const command of [
    ['accounts', 'resume', id],
    ['keys', 'create', id, 'again'],
  ]) {
    expect(await tollgate(...command)).toMatchObject({
      code: 1,
      text: expect.stringContaining('This account was erased and stays closed'),
    });
  }
  const { rows } = await server.database.money.query(
    'SELECT a.suspended, count(k) FILTER (WHERE k.deleted_at IS NULL)::integer AS keys FROM accounts a LEFT JOIN api_keys k ON k.account_id = a.id WHERE a.id = $1 GROUP BY a.id',
    [other],
  );
  expect(rows).toEqual([{ suspended: true, keys: 0 }]);
  // a second erasure is no error, e.g. after an answer that was lost
  expect((await tollgate('accounts', 'erase', id, '--yes')).code).toBe(0);
});
