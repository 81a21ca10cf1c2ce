import { type Customer, createCustomer, orderImage } from '../operators/support/customer.ts';
import { type OperatorServer, startOperatorServer } from '../operators/support/operator-server.ts';

/** Lists as files: all rows of the JSON, exact to the last digit. */

const CALLS = 3;

let server: OperatorServer;
let customer: Customer;
beforeAll(async () => {
  server = await startOperatorServer({ redisDatabase: 9 });
  customer = await createCustomer(server);
  const messages = [{ role: 'user', content: 'Hello' }];
  const body = { model: 'tollgate/small', messages, max_completion_tokens: 20 };
  for (let call = 0; call < CALLS; call += 1) {
    await server.call('POST', '/api/v1/chat/completions', { token: customer.secret, body });
  }
  await orderImage(server, customer);
  await server.call('POST', `/admin/v1/accounts/${customer.account}/adjustments`, {
    body: { amount: '-0.000000001', description: '=HYPERLINK("http://evil.example";"x, y")' },
    headers: { 'idempotency-key': 'csv-export-test' },
  });
});
afterAll(() => server?.close());

const read = (path: string, accept = 'application/json') =>
  server.call('GET', path, { token: customer.secret, headers: { accept } });

/** Parses RFC 4180. */
function parse(text: string): Record<string, string>[] {
  const lines = text
    .split(/\r\n(?=(?:[^"]*"[^"]*")*[^"]*$)/)
    .filter((line) => line !== '')
    .map((line) =>
      [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(
        ([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? '',
      ),
    );
  const [names = [], ...rows] = lines;
  return rows.map((row) => Object.fromEntries(names.map((name, index) => [name, row[index] ?? ''])));
}

const csv = async (path: string) => parse((await read(path, 'text/csv')).text);

test.each([
  ['/api/v1/generations', 'id'],
  ['/api/v1/billing/balance-transactions', 'id'],
  ['/api/v1/tasks', 'id'],
  ['/api/v1/usage', 'period_start'],
  ['/api/v1/activity', 'model'],
  ['/api/v1/costs', 'line_item'],
])('%s: contains the rows of the JSON, however small the page that is requested', async (path, member) => {
  const rows = (await read(path)).json.data;
  expect(rows.length).toBeGreaterThan(0);
  const exported = await csv(`${path}?limit=1`);
  expect(exported.map((row) => row[member])).toEqual(rows.map((row: Record<string, string>) => row[member]));
});

test('an answer without a CSV form rejects a request that takes nothing else', async () => {
  const { status, json } = await read('/api/v1/keys', 'text/csv');
  expect([status, json.error]).toMatchObject([406, { code: 'invalid_request' }]);
  expect((await read('/api/v1/keys', 'text/csv, */*;q=0.1')).status).toBe(200);
});

test('amounts are exact as in the ledger, and a formula stays text', async () => {
  const transactions = await csv('/api/v1/billing/balance-transactions');
  const [newest] = (await read('/api/v1/billing/balance-transactions')).json.data;
  const manual = transactions.find(({ type }) => type === 'adjustment');
  expect(manual).toMatchObject({
    amount: '-0.000000001',
    amount_currency: 'USD',
    description: `'=HYPERLINK("http://evil.example";"x, y")`,
  });
  expect(transactions[0]).toMatchObject({ balance_after: newest.balance_after.value, contra: newest.contra });
  const [generation] = (await read('/api/v1/generations')).json.data;
  const [row] = await csv('/api/v1/generations');
  expect(row).toMatchObject({
    usage_input_tokens: String(generation.usage.input_tokens),
    charged_amount: generation.charged_amount,
    error_code: '',
    cost_details: JSON.stringify(generation.cost_details),
  });
});

test('the file has a name, an empty list is a header row only, and errors have the usual form', async () => {
  const answer = await read('/api/v1/costs', 'text/csv');
  expect(answer.headers.get('content-disposition')).toBe('attachment; filename="costs.csv"');
  expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8');
  const none = await read('/api/v1/generations?model=no-such-model', 'text/csv');
  expect(none.text.split('\r\n')).toHaveLength(2);
  const refused = await read('/api/v1/costs?granularity=year', 'text/csv');
  expect([refused.status, refused.json.error.code]).toEqual([400, 'invalid_parameter']);
});
