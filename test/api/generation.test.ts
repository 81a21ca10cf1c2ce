import { newUuid, publicId } from '../../src/lib/ids.ts';
import { nanoUsd } from '../../src/lib/money.ts';
import { createAccount } from '../factories/account.ts';
import { createKey, type TestKey } from '../factories/api-key.ts';
import { createGeneration } from '../factories/generation.ts';
import { holdRequest, testLedger } from '../factories/ledger.ts';
import { startTestServer, type TestServer } from './support/test-server.ts';

let server: TestServer;
let accountId: string;
let owner: TestKey;
let worker: TestKey;

beforeAll(async () => {
  server = await startTestServer();
  accountId = (await createAccount(server.database)).id;
  owner = await createKey(server.database, accountId);
  worker = await createKey(server.database, accountId, { role: 'inference' });
});
afterAll(() => server?.close());

const get = (id: string, key = owner) =>
  server.call('GET', `/api/v1/generation?id=${id}`, { key: key.secret });

test('shows a finished generation with its usage, charge and line items', async () => {
  const uuid = await createGeneration(server.database, {
    accountId,
    apiKeyId: worker.id,
    lines: { input: nanoUsd(1_500), output: nanoUsd(2_000_000), cache_read: nanoUsd(375) },
    usage: { inputTokens: 20, outputTokens: 7, cacheReadTokens: 5, cacheWriteTokens: 0, reasoningTokens: 2 },
    requestId: 'my-request',
  });
  const answer = await get(publicId('generation', uuid));
  expect(answer.json.data).toEqual({
    id: publicId('generation', uuid),
    created_at: expect.stringMatching(/Z$/),
    endpoint: '/api/v1/chat/completions',
    status: 'completed',
    model: 'acme/small',
    api_key_hash: worker.hash,
    latency_ms: 12,
    usage: {
      input_tokens: 20,
      output_tokens: 7,
      total_tokens: 27,
      cache_read_tokens: 5,
      cache_write_tokens: 0,
      reasoning_tokens: 2,
    },
    charged_amount: '0.002001875',
    currency: 'USD',
    error: null,
    usage_source: 'provider',
    cost_details: { input: '0.0000015', output: '0.002', cache_read: '0.000000375' },
    finish_reason: 'stop',
    streamed: false,
    first_token_ms: null,
    completed_at: expect.stringMatching(/^\d{4}-.*Z$/),
    price_version: 'test',
    unit_prices: null,
    ignored_parameters: [],
  });
  expect((await get('my-request')).json.data.id).toBe(publicId('generation', uuid));
});

test('a failed generation costs nothing and says why it failed', async () => {
  const error = { code: 'provider_error', message: 'The provider failed.' };
  const uuid = await createGeneration(server.database, {
    accountId,
    apiKeyId: worker.id,
    status: 'failed',
    error,
  });
  expect((await get(publicId('generation', uuid))).json.data).toMatchObject({
    status: 'failed',
    charged_amount: '0.00',
    error,
  });
});

test('an open hold is shown as a generation in progress', async () => {
  const ledger = testLedger(server.database);
  const request = holdRequest({ accountId, apiKeyId: worker.id }, nanoUsd(5_000));
  await ledger.reserve(request);
  const { data } = (await get(publicId('generation', request.id))).json;
  expect(data).toMatchObject({ status: 'in_progress', charged_amount: '0.00', error: null });
  expect(data.latency_ms).toBeGreaterThanOrEqual(0);
});

test('a waiting task is shown as queued', async () => {
  const ledger = testLedger(server.database);
  const request = holdRequest({ accountId, apiKeyId: worker.id }, nanoUsd(5_000), {
    task: {
      kind: 'video',
      pool: 'local',
      parameters: {},
      seed: 1n,
      webhookUrl: null,
      deadlineMs: 60_000,
    },
  });
  await ledger.reserve(request);
  expect((await get(publicId('generation', request.id))).json.data.status).toBe('queued');
});

test("an inference key reads only its own rows; unknown, foreign and a colleague's ids look the same", async () => {
  const other = await createKey(server.database, accountId, { role: 'inference' });
  const foreignAccount = (await createAccount(server.database)).id;
  const foreignKey = await createKey(server.database, foreignAccount);
  const uuid = await createGeneration(server.database, { accountId, apiKeyId: worker.id, charge: '0.01' });
  const id = publicId('generation', uuid);
  expect((await get(id, worker)).status).toBe(200);
  const answers = [
    await get(id, other),
    await get(id, foreignKey),
    await get(publicId('generation', newUuid()), owner),
  ];
  for (const answer of answers) {
    expect([answer.status, answer.json.error.code]).toEqual([404, 'generation_not_found']);
    expect({ ...answer.json, request_id: '' }).toEqual({ ...answers[0]?.json, request_id: '' });
  }
});

test.each(['', '?id=', '?id=a&id=b', '?id=a&x=1'])('returns 400 for %j', async (query) => {
  expect((await server.call('GET', `/api/v1/generation${query}`, { key: owner.secret })).status).toBe(400);
});
