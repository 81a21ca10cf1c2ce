import { TypicalOutput } from '../../src/invocation/typical-output.read-model.ts';
import { publicId } from '../../src/lib/ids.ts';
import { NO_USAGE } from '../../src/lib/usage.ts';
import { oneCell } from '../../src/store/cells.ts';
import { createAccount } from '../factories/account.ts';
import { createKey } from '../factories/api-key.ts';
import { createGeneration } from '../factories/generation.ts';
import { startTestServer, type TestServer } from './support/test-server.ts';

/** The log of calls: `GET /api/v1/generations`. */

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server?.close());

async function accountWithCalls() {
  const { id } = await createAccount(server.database);
  const owner = await createKey(server.database, id);
  const other = await createKey(server.database, id, { role: 'inference' });
  const ids: string[] = [];
  for (const [apiKeyId, model, status] of [
    [owner.id, 'acme/small', 'completed'],
    [other.id, 'acme/small', 'failed'],
    [owner.id, 'acme/large', 'completed'],
  ] as const) {
    const made = await createGeneration(server.database, {
      accountId: id,
      apiKeyId,
      model,
      status,
      charge: '0.000000001',
      ...(model === 'acme/large' && { endpoint: '/vendorx/v1/messages' }),
    });
    ids.unshift(publicId('generation', made));
  }
  const list = async (query = '', key = owner.secret): Promise<string[]> => {
    const answer = await server.call('GET', `/api/v1/generations${query}`, { key });
    expect(answer.status).toBe(200);
    return answer.json.data.map((row: { id: string }) => row.id);
  };
  return { ids, owner, other, list };
}

test('lists newest first, each row equal to the single read', async () => {
  const { ids, owner, list } = await accountWithCalls();
  expect(await list()).toEqual(ids);
  const [row] = (await server.call('GET', '/api/v1/generations?limit=1', { key: owner.secret })).json.data;
  const alone = await server.call('GET', `/api/v1/generation?id=${ids[0]}`, { key: owner.secret });
  expect(row).toEqual(alone.json.data);
  expect(row.charged_amount).toBe('0.000000001');
});

test('filters, and limits a time range to the instant', async () => {
  const { ids, other, list } = await accountWithCalls();
  expect(await list('?status=failed')).toEqual([ids[1]]);
  expect(await list('?model=acme/large')).toEqual([ids[0]]);
  expect(await list('?endpoint=/vendorx/v1/messages')).toEqual([ids[0]]);
  expect(await list('?endpoint=/api/v1/rerank')).toEqual([]);
  expect(await list(`?api_key_hash=${other.hash}`)).toEqual([ids[1]]);
  expect(await list(`?api_key_hash=${'f'.repeat(64)}`)).toEqual([]);
  expect(await list(`?start_time=${new Date(Date.now() - 60_000).toISOString()}`)).toEqual(ids);
  expect(await list(`?end_time=${new Date(Date.now() - 60_000).toISOString()}`)).toEqual([]);
  expect(await list(`?start_time=${new Date(Date.now() + 60_000).toISOString()}`)).toEqual([]);
});

test('an inference key sees its own calls, another account sees nothing', async () => {
  const { ids, other, owner, list } = await accountWithCalls();
  const stranger = await accountWithCalls();
  expect(await list('', other.secret)).toEqual([ids[1]]);
  expect(await list(`?api_key_hash=${owner.hash}`, other.secret)).toEqual([]);
  expect(await stranger.list()).toEqual(stranger.ids);
  expect(await stranger.list(`?api_key_hash=${owner.hash}`)).toEqual([]);
});

test('the typical length of an answer is the median of at least five completed calls, by account and model', async () => {
  const typical = new TypicalOutput(oneCell(server.database));
  const { id: accountId } = await createAccount(server.database);
  const { id: apiKeyId } = await createKey(server.database, accountId);
  const call = (outputTokens: number, model: string, status: 'completed' | 'failed' = 'completed') =>
    createGeneration(server.database, {
      ...{ accountId, apiKeyId, model, status, charge: '0.000000001' },
      usage: { ...NO_USAGE, inputTokens: 1, outputTokens },
    });
  for (const tokens of [1, 2, 30, 400]) {
    await call(tokens, 'acme/small');
  }
  await call(5_000, 'acme/small', 'failed');
  await call(5_000, 'acme/large');
  expect(await typical.tokens(accountId, 'acme/small')).toBeUndefined();
  await call(6_000, 'acme/small');
  expect(await typical.tokens(accountId, 'acme/small')).toBe(30);
});

test('pages by cursor and rejects an invalid cursor', async () => {
  const { ids, owner } = await accountWithCalls();
  const first = await server.call('GET', '/api/v1/generations?limit=2', { key: owner.secret });
  const [, next = ''] = /<([^>]+)>/.exec(first.headers.get('link') ?? '') ?? [];
  const second = await server.call('GET', next, { key: owner.secret });
  expect(second.json.data.map((row: { id: string }) => row.id)).toEqual([ids[2]]);
  expect(second.headers.get('link')).toBeNull();
  const wrong = await server.call('GET', '/api/v1/generations?cursor=nonsense', { key: owner.secret });
  expect(wrong.json.error.code).toBe('invalid_cursor');
});
