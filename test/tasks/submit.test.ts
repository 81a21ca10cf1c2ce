import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createKey } from '../factories/api-key.ts';
import { customer, submitImage } from '../factories/task-order.ts';
import { startTaskServer, type TaskServer } from '../factories/task-server.ts';
import { TaskTest } from '../factories/task-test.ts';

let it: TaskTest;
let server: TaskServer;

beforeAll(async () => {
  it = await TaskTest.open({ credits: '1000.00' });
  const { secret } = await createKey(it.database.database, it.who.accountId);
  server = await startTaskServer(it, secret);
});

afterAll(async () => {
  await server?.close();
  await it?.close();
});

const VIDEO = { model_name: 'video-fast', width: 1280, height: 720, seed: -1, steps: 30, prompt: 'a river' };
const IMAGE = { prompt: 'a river' };
const BEYOND_BMP = '𝕏'.repeat(2_000);

const VIDEO_CASES: readonly [string, Record<string, unknown>, string | null][] = [
  ['as in the interface', {}, null],
  ['portrait', { width: 720, height: 1280 }, null],
  ['no model', { model_name: undefined }, 'model_name'],
  ['model of another type', { model_name: 7 }, 'model_name'],
  ['no width', { width: undefined }, 'width'],
  ['width 721', { width: 721 }, 'width'],
  ['width as text', { width: '1280' }, 'width'],
  ['width with a fraction', { width: 1280.5 }, 'width'],
  ['no height', { height: undefined }, 'height'],
  ['height 1080', { height: 1080 }, 'height'],
  ['square 720', { width: 720, height: 720 }, 'height'],
  ['square 1280', { width: 1280, height: 1280 }, 'height'],
  ['no seed', { seed: undefined }, 'seed'],
  ['seed −2', { seed: -2 }, 'seed'],
  ['seed 0', { seed: 0 }, null],
  ['the largest seed, beyond 32 bits', { seed: 9_999_999_999 }, null],
  ['one more', { seed: 10_000_000_000 }, 'seed'],
  ['seed with a fraction', { seed: 1.5 }, 'seed'],
  ['seed as text', { seed: '5' }, 'seed'],
  ['no steps', { steps: undefined }, 'steps'],
  ['1 step', { steps: 1 }, 'steps'],
  ['2 steps', { steps: 2 }, null],
  ['31 steps', { steps: 31 }, 'steps'],
  ['no prompt', { prompt: undefined }, 'prompt'],
  ['an empty prompt', { prompt: '' }, 'prompt'],
  ['1 character', { prompt: 'x' }, null],
  ['2,000 characters', { prompt: 'x'.repeat(2_000) }, null],
  ['2,001 characters', { prompt: 'x'.repeat(2_001) }, 'prompt'],
  ['2,000 code points that are 4,000 UTF-16 units', { prompt: BEYOND_BMP }, null],
  ['2,001 code points', { prompt: `${BEYOND_BMP}x` }, 'prompt'],
  ['NUL in the prompt, which no database column takes', { prompt: 'a\0b' }, 'prompt'],
  ['half a surrogate pair', { prompt: 'a\ud800b' }, 'prompt'],
  ['prompt of another type', { prompt: ['a'] }, 'prompt'],
  ['an unknown member', { style: 'noir' }, null],
  ['a webhook', { extra: { webhook: { url: 'https://example.com/hook' } } }, null],
  ['a webhook without a URL', { extra: { webhook: {} } }, 'extra.webhook.url'],
  ['a webhook that is no URL', { extra: { webhook: { url: 'hook' } } }, 'extra.webhook.url'],
  ['a webhook over ftp', { extra: { webhook: { url: 'ftp://example.com' } } }, 'extra.webhook.url'],
  [
    'a webhook with credentials',
    { extra: { webhook: { url: 'https://u:p@example.com/' } } },
    'extra.webhook.url',
  ],
  [
    'a webhook in test mode',
    { extra: { webhook: { url: 'https://example.com/', test_mode: { enabled: true } } } },
    'extra.webhook.test_mode.enabled',
  ],
];

const IMAGE_CASES: readonly [string, Record<string, unknown>, string | null][] = [
  ['a prompt alone', {}, null],
  ['no prompt', { prompt: undefined }, 'prompt'],
  ['an empty prompt', { prompt: '' }, 'prompt'],
  ['a long prompt', { prompt: 'x'.repeat(2_001) }, null],
  ["Novita's wrapping", { prompt: undefined, request: { prompt: 'wrapped' }, extra: {} }, null],
  ['wrapped nothing', { prompt: undefined, request: {} }, 'prompt'],
  ['the smallest size', { size: '256*256' }, null],
  ['the largest size', { size: '1536*1536' }, null],
  ['a size that no engine likes', { size: '257*1535' }, null],
  ['255', { size: '255*256' }, 'size'],
  ['1537', { size: '256*1537' }, 'size'],
  ['an x', { size: '512x512' }, 'size'],
  ['spaces', { size: '512 * 512' }, 'size'],
  ['one side', { size: '512' }, 'size'],
  ['three sides', { size: '512*512*512' }, 'size'],
  ['a sign', { size: '-512*512' }, 'size'],
  ['an exponent', { size: '1e3*512' }, 'size'],
  ['a number', { size: 512 }, 'size'],
  ['seed −1', { seed: -1 }, null],
  ['seed −2', { seed: -2 }, 'seed'],
  ['the largest seed', { seed: 2_147_483_647 }, null],
  ['one more', { seed: 2_147_483_648 }, 'seed'],
  ['base64', { enable_base64_output: true }, null],
  ['base64 as text', { enable_base64_output: 'true' }, 'enable_base64_output'],
  [
    'base64 and a webhook',
    { enable_base64_output: true, extra: { webhook: { url: 'https://example.com/' } } },
    'enable_base64_output',
  ],
];

test.each([
  ...VIDEO_CASES.map(
    ([name, changes, field]) => ['video-fast', name, { ...VIDEO, ...changes }, field] as const,
  ),
  ...IMAGE_CASES.map(
    ([name, changes, field]) => ['image-turbo', name, { ...IMAGE, ...changes }, field] as const,
  ),
])('%s: %s', async (path, _name, body, field) => {
  const { status, json } = await server.call('POST', `/v3/async/${path}`, { body });
  if (field === null) {
    expect({ status, json }).toEqual({
      status: 200,
      json: { task_id: expect.stringMatching(/^gen-[0-9A-Z]{26}$/) },
    });
    return;
  }
  expect(status).toBe(400);
  expect(json).toMatchObject({
    code: 400,
    reason: 'INVALID_REQUEST_BODY',
    metadata: { [field]: expect.any(String) },
    error: { code: 'invalid_parameter', type: 'invalid_request_error' },
    request_id: expect.any(String),
  });
  expect(json.error.message.startsWith(`${field}: `)).toBe(true);
});

test('resolves −1 at submit, within the range of its endpoint', async () => {
  const seeds: string[] = [];
  for (let index = 0; index < 8; index += 1) {
    const { json } = await server.call('POST', '/v3/async/image-turbo', { body: { ...IMAGE, seed: -1 } });
    const result = await server.call('GET', `/v3/async/task-result?task_id=${json.task_id}`);
    seeds.push(result.json.extra.seed);
  }
  expect(new Set(seeds).size).toBeGreaterThan(6);
  expect(seeds.every((seed) => Number(seed) >= 0 && Number(seed) <= 2_147_483_647)).toBe(true);
});

test.each([
  ['/v3/async/image-turbo', IMAGE],
  ['/v3/async/video-fast', VIDEO],
  ['/api/v1/videos', { model: 'video-fast', prompt: 'a river', size: '1280x720' }],
])('an order at %s names its generation in X-Generation-Id', async (path, body) => {
  const { status, json, headers } = await server.call('POST', path, { body });
  expect(status).toBe(200);
  expect(headers.get('x-generation-id')).toBe(json.task_id ?? json.id);
});

test('holds the price, with one hold per task', async () => {
  const before = await it.openHolds();
  const { json } = await server.call('POST', '/v3/async/video-fast', { body: VIDEO });
  const result = await server.call('GET', `/v3/async/task-result?task_id=${json.task_id}`);
  expect(await it.openHolds()).toBe(before + 1);
  expect(result.json.extra).toMatchObject({
    estimated_amount: '0.30',
    charged_amount: '0.00',
    currency: 'USD',
  });
});

test('returns the same task once for the same Idempotency-Key', async () => {
  const headers = { 'idempotency-key': 'order-1' };
  const before = await it.openHolds();
  const first = await server.call('POST', '/v3/async/image-turbo', { body: IMAGE, headers });
  const again = await server.call('POST', '/v3/async/image-turbo', { body: IMAGE, headers });
  const other = await server.call('POST', '/v3/async/image-turbo', { body: { prompt: 'another' }, headers });
  expect(again.json).toEqual(first.json);
  expect(again.headers.get('idempotent-replayed')).toBe('true');
  expect(other.status).toBe(422);
  expect(await it.openHolds()).toBe(before + 1);
});

test('returns 402 without money, with the reason that clients of this API know, and creates no task', async () => {
  const poor = await TaskTest.open({ credits: '0.001' });
  const { secret } = await createKey(poor.database.database, poor.who.accountId);
  const poorServer = await startTaskServer(poor, secret);
  const { status, json } = await poorServer.call('POST', '/v3/async/image-turbo', { body: IMAGE });
  const { rows } = await poor.pool.query('SELECT 1 FROM tasks');
  await poorServer.close();
  await poor.close();
  expect({ status, reason: json.reason }).toEqual({ status: 402, reason: 'BILLING_BALANCE_NOT_ENOUGH' });
  expect(rows).toEqual([]);
});

test.each([
  ['/v3/async/image-turbo', IMAGE, '0.005'],
  ['/v3/async/video-fast', VIDEO, '0.30'],
  ['/api/v1/images/generations', { model: 'image-turbo', prompt: 'a river' }, '0.005'],
  ['/api/v1/videos', { model: 'video-fast', prompt: 'a river', size: '1280x720' }, '0.30'],
])('%s costs at most what x-max-cost allows', async (path, body, price) => {
  const before = await it.openHolds();
  const order = (cost: string) => server.call('POST', path, { body, headers: { 'x-max-cost': cost } });
  const refused = await order('0.0049');
  expect(refused).toMatchObject({ status: 402, json: { error: { code: 'max_cost_exceeded' } } });
  expect(refused.json.error.message).toContain(`is less than this call needs (${price})`);
  expect(await order('cheap')).toMatchObject({ status: 400, json: { error: { code: 'invalid_parameter' } } });
  expect(await it.openHolds()).toBe(before);
  if (path.startsWith('/v3')) {
    expect((await order(price)).status).toBe(200);
    expect(await it.openHolds()).toBe(before + 1);
  }
});

test('rejects a model that this key may not use', async () => {
  const { secret } = await createKey(it.database.database, it.who.accountId, {
    allowedModels: ['video-fast'],
  });
  const refused = await server.call('POST', '/v3/async/image-turbo', { body: IMAGE, key: secret });
  expect(refused).toMatchObject({ status: 403, json: { error: { code: 'model_not_allowed' } } });
});

test.each([
  [
    'video-fast',
    { ...VIDEO, model_name: 'video-fsat' },
    404,
    'model_not_found',
    'Did you mean "video-fast"?',
  ],
  ['image-trubo', IMAGE, 404, 'model_not_found', 'Did you mean "image-turbo"?'],
  [
    'video-fast',
    { ...VIDEO, model_name: 'image-turbo' },
    400,
    'model_not_supported_on_endpoint',
    'POST /v3/async/image-turbo',
  ],
  [
    'image-turbo',
    { ...IMAGE, model_name: 'other' },
    400,
    'invalid_parameter',
    "use the other model's own path",
  ],
])('rejects %s with another model: %j', async (path, body, status, code, hint) => {
  const refused = await server.call('POST', `/v3/async/${path}`, { body });
  expect(refused).toMatchObject({
    status,
    json: { error: { code, message: expect.stringContaining(hint) } },
  });
});

test('returns 401 without a key, in both error formats', async () => {
  const { status, json } = await server.call('POST', '/v3/async/image-turbo', {
    body: IMAGE,
    key: 'nonsense',
  });
  expect(status).toBe(401);
  expect(json).toMatchObject({
    code: 401,
    reason: 'INVALID_API_KEY',
    error: { type: 'authentication_error' },
  });
});

test('limits the waiting tasks of an account per pool, and says when to come back', async () => {
  const who = await customer(it.database.database);
  const rateLimits = { key: null, account: null, queuedTasks: 2 };
  const confined = { ...who, principal: { ...who.principal, rateLimits } };
  await submitImage(it.stack, confined);
  await submitImage(it.stack, confined);
  await expect(submitImage(it.stack, confined)).rejects.toMatchObject({
    code: 'rate_limit_exceeded',
    retryAfterSeconds: 10,
  });
  await expect(submitImage(it.stack, who)).resolves.toEqual(expect.any(String));
});

test('creates one webhook secret for one Idempotency-Key', async () => {
  const rotate = (name: string) =>
    server.call('POST', '/api/v1/webhooks/secret/rotate', { headers: { 'idempotency-key': name } });
  const first = await rotate('rotation-1');
  const again = await rotate('rotation-1');
  const other = await rotate('rotation-2');
  expect(first.json.data.secret).toMatch(/^whsec_/);
  expect(again.json.data).toEqual(first.json.data);
  expect(again.headers.get('idempotent-replayed')).toBe('true');
  expect(other.json.data.secret).not.toBe(first.json.data.secret);
});
