import fc from 'fast-check';
import { LINE_ITEMS, type LineItem } from '../../src/ledger/ledger.types.ts';
import { type NanoUsd, nanoUsd, parseUsd } from '../../src/lib/money.ts';
import { createAccount } from '../factories/account.ts';
import { createKey, type TestKey } from '../factories/api-key.ts';
import { createGeneration } from '../factories/generation.ts';
import { atTime } from '../factories/history.ts';
import { startTestServer, type TestServer } from './support/test-server.ts';

interface Call {
  readonly daysAgo: number;
  readonly key: 0 | 1;
  readonly model: 'acme/small' | 'acme/large';
  readonly endpoint: string;
  readonly lines: Partial<Record<LineItem, NanoUsd>>;
  readonly input: number;
}

let server: TestServer;
let accountId: string;
let owner: TestKey;
let worker: TestKey;
let calls: Call[];

const nano = fc.bigInt({ min: 1n, max: 5_000_000n }).map((value) => nanoUsd(value));
const call: fc.Arbitrary<Call> = fc.record({
  daysAgo: fc.constantFrom(45, 20, 3, 1, 0),
  key: fc.constantFrom(0 as const, 1 as const),
  model: fc.constantFrom('acme/small' as const, 'acme/large' as const),
  endpoint: fc.constantFrom('/api/v1/chat/completions', '/v3/async/image-turbo'),
  lines: fc.dictionary(fc.constantFrom(...LINE_ITEMS), nano, { noNullPrototype: true }) as fc.Arbitrary<
    Call['lines']
  >,
  input: fc.integer({ min: 0, max: 5000 }),
});

beforeAll(async () => {
  server = await startTestServer();
  const { url } = server.test;
  calls = fc.sample(call, { numRuns: 120, seed: 7 }).sort((a, b) => b.daysAgo - a.daysAgo);
  accountId = await atTime(
    url,
    server.database,
    '-50 days',
    async (database) => (await createAccount(database)).id,
  );
  owner = await createKey(server.database, accountId);
  worker = await createKey(server.database, accountId, { role: 'inference' });
  for (const daysAgo of [45, 20, 3, 1, 0]) {
    await atTime(url, server.database, `-${daysAgo} days`, async (database) => {
      for (const { key, model, endpoint, lines, input } of calls.filter((item) => item.daysAgo === daysAgo)) {
        const apiKeyId = key === 0 ? owner.id : worker.id;
        const usage = {
          inputTokens: input,
          outputTokens: 3,
          cacheReadTokens: 0,
          cacheWriteTokens: 0,
          reasoningTokens: 1,
        };
        await createGeneration(database, { accountId, apiKeyId, model, endpoint, lines, usage });
      }
    });
  }
});
afterAll(() => server?.close());

type Row = Record<string, unknown> & { amount: { value: string }; line_item: LineItem; period_start: string };

async function all(path: string, key = owner): Promise<Row[]> {
  const rows: Row[] = [];
  let next: string | undefined = `/api/v1/${path}`;
  while (next) {
    const answer = await server.call('GET', next, { key: key.secret });
    expect(answer.status).toBe(200);
    rows.push(...answer.json.data);
    next = /^<(.+)>; rel="next"$/.exec(answer.headers.get('link') ?? '')?.[1];
  }
  return rows;
}

const usd = (text: string): bigint => parseUsd(text) ?? nanoUsd(0);
const total = (rows: Row[]): bigint => rows.reduce((sum, row) => sum + usd(row.amount.value), 0n);
const spent = (filter: (item: Call) => boolean): bigint =>
  calls
    .filter(filter)
    .reduce((sum, { lines }) => sum + Object.values(lines).reduce((part, line) => part + line, 0n), 0n);
const wide = `start_time=${ago(60)}`;

/** Days that maintenance summed in advance must not change any answer: none, the oldest ones, all finished ones. */
const FILLED = [
  ['no day', 0],
  ['the older days', 30],
  ['every finished day', 100],
] as const;

const someReports = fc.sample(
  fc
    .tuple(
      fc.constantFrom(
        ...['usage?', 'activity?', 'costs?', 'costs?group_by=model,api_key,endpoint&'],
        ...['usage?granularity=hour&model=acme/large&', 'costs?granularity=hour&group_by=endpoint&'],
        'costs?granularity=hour&',
      ),
      fc.integer({ min: 0, max: 47 * 288 }),
      fc.integer({ min: 0, max: 47 * 288 }),
      fc.boolean(),
    )
    .map(([path, one, other, isOwn]) => {
      const hours = path.includes('granularity=hour');
      const [later, earlier] = [Math.min(one, other), Math.max(one, other)];
      const start = hours ? Math.min(earlier, later + 30 * 288) : earlier;
      const range = `start_time=${ago(start / 288)}&end_time=${ago(later / 288)}`;
      return { path: `${path}${range}&limit=50`, isOwn };
    }),
  { numRuns: 60, seed: 11 },
);
let answersBefore: Row[][] | undefined;

describe.each(FILLED)('with %s summed in advance, costs equal the ledger to the nano-dollar', (_, days) => {
  beforeAll(async () => {
    if (days > 0) {
      await server.database.money.query('SELECT finish_usage_days($1)', [accountId]);
      const { rows } = await server.database.money.query('SELECT fill_usage_days($1, $2) AS filled', [
        accountId,
        days,
      ]);
      expect(rows[0].filled).toBeGreaterThan(10 * 24);
    }
  });

  test('every report is the same as from roll-ups alone', async () => {
    const answers: Row[][] = [];
    for (const { path, isOwn } of someReports) {
      answers.push(await all(path, isOwn ? worker : owner));
    }
    expect(answers.filter((rows) => rows.length > 0).length).toBeGreaterThan(20);
    answersBefore ??= answers;
    expect(answers).toEqual(answersBefore);
  });

  test('activity adds up by endpoint, model, key and day', async () => {
    const rows = await all(`activity?${wide}&limit=4`);
    expect(rows.reduce((sum, row) => sum + usd(String(row.charged_amount)), 0n)).toBe(spent(() => true));
    expect(rows[0]).toMatchObject({
      currency: 'USD',
      endpoint: expect.stringMatching(/^\//),
      usage: { output_tokens: expect.any(Number) },
    });
    const keys = rows.map((row) =>
      JSON.stringify([row.period_start, row.endpoint, row.model, row.api_key_hash]),
    );
    expect(new Set(keys).size).toBe(rows.length);
  });

  test.each([
    '',
    '&group_by=model',
    '&group_by=api_key',
    '&group_by=endpoint',
    '&group_by=model,api_key,endpoint',
  ])('with%s, in pages of any size', async (grouping) => {
    for (const limit of [1000, 7]) {
      const rows = await all(`costs?${wide}&limit=${limit}${grouping}`);
      expect(total(rows)).toBe(spent(() => true));
      for (const item of LINE_ITEMS) {
        const line = calls.reduce((sum, { lines }) => sum + (lines[item] ?? 0n), 0n);
        expect(total(rows.filter((row) => row.line_item === item))).toBe(line);
      }
    }
  });

  test('the credits show the same total', async () => {
    const { json } = await server.call('GET', '/api/v1/credits', { key: owner.secret });
    expect(usd(json.data.total_usage)).toBe(spent(() => true));
  });

  test('by key, by hour and by default range', async () => {
    expect(total(await all(`costs?${wide}&api_key_hash=${worker.hash}`))).toBe(spent(({ key }) => key === 1));
    expect(total(await all('costs'))).toBe(spent(({ daysAgo }) => daysAgo < 30));
    expect(total(await all(`costs?granularity=hour&start_time=${ago(2)}`))).toBe(
      spent(({ daysAgo }) => daysAgo < 2),
    );
  });

  test('fields that are not grouped are null, grouped ones are set', async () => {
    const [plain] = await all(`costs?${wide}`);
    expect(plain).toMatchObject({ model: null, api_key_hash: null, endpoint: null });
    for (const row of await all(`costs?${wide}&group_by=model,api_key`)) {
      expect(row).toMatchObject({
        model: expect.any(String),
        api_key_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
        endpoint: null,
      });
    }
  });
});

describe('usage', () => {
  test('counts tokens and requests by model and key, oldest first', async () => {
    const rows = await all(`usage?${wide}&limit=3`);
    const sum = (name: string) => rows.reduce((count, row) => count + Number(row[name]), 0);
    expect(sum('request_count')).toBe(calls.length);
    expect(sum('input_tokens')).toBe(calls.reduce((count, item) => count + item.input, 0));
    expect(sum('output_tokens')).toBe(3 * calls.length);
    expect(sum('reasoning_tokens')).toBe(calls.length);
    expect(sum('total_tokens')).toBe(sum('input_tokens') + sum('output_tokens'));
    const starts = rows.map((row) => row.period_start);
    expect(starts).toEqual([...starts].sort());
    expect(
      new Set(rows.map((row) => JSON.stringify([row.period_start, row.model, row.api_key_hash]))).size,
    ).toBe(rows.length);
  });

  test.each([
    ['5m', 300],
    ['hour', 3600],
    ['day', 86_400],
  ])('buckets of %s are aligned to UTC', async (granularity, seconds) => {
    const aligned = new Date(Math.ceil(Date.parse(ago(1)) / 1000 / seconds) * seconds * 1000).toISOString();
    const rows = await all(`usage?granularity=${granularity}&start_time=${aligned}`);
    expect(rows.length).toBeGreaterThan(0);
    for (const row of rows) {
      const start = Date.parse(row.period_start) / 1000;
      expect(start % seconds).toBe(0);
      expect(Date.parse(String(row.period_end)) / 1000 - start).toBe(seconds);
    }
  });

  test('filters by model; an unknown model or key has no rows', async () => {
    const rows = await all(`usage?${wide}&model=acme/large`);
    expect(rows.reduce((count, row) => count + Number(row.request_count), 0)).toBe(
      calls.filter((item) => item.model === 'acme/large').length,
    );
    expect(await all(`usage?${wide}&model=none`)).toEqual([]);
    expect(await all(`usage?${wide}&api_key_hash=${'0'.repeat(64)}`)).toEqual([]);
  });

  test('includes the current bucket', async () => {
    const before = (await all('usage?granularity=5m')).reduce(
      (count, row) => count + Number(row.request_count),
      0,
    );
    const { id } = await createAccount(server.database);
    const key = await createKey(server.database, id);
    await createGeneration(server.database, { accountId: id, apiKeyId: key.id, charge: '0.01' });
    expect((await all('usage?granularity=5m', key))[0]).toMatchObject({ request_count: 1 });
    expect(
      (await all('usage?granularity=5m')).reduce((count, row) => count + Number(row.request_count), 0),
    ).toBe(before);
  });

  test('the start is inclusive and the end exclusive, in seconds or RFC 3339', async () => {
    const [first] = await all(`usage?granularity=hour&start_time=${ago(30)}&limit=1`);
    const start = Math.floor(Date.parse(first?.period_start ?? '') / 1000);
    const from = await all(`usage?granularity=hour&start_time=${start}&end_time=${start + 3600}`);
    expect(from[0]?.period_start).toBe(first?.period_start);
    const until = new Date(start * 1000).toISOString();
    expect(await all(`usage?granularity=hour&start_time=${start - 7200}&end_time=${until}`)).toEqual([]);
    expect(await all(`usage?start_time=${start}&end_time=${start}`)).toEqual([]);
  });
});

describe('an inference key sees only its own rows', () => {
  test.each(['usage', 'activity', 'costs?group_by=api_key'])('%s', async (path) => {
    const joint = path.includes('?') ? '&' : '?';
    const rows = await all(`${path}${joint}${wide}`, worker);
    expect(rows.length).toBeGreaterThan(0);
    expect(new Set(rows.map((row) => row.api_key_hash))).toEqual(new Set([worker.hash]));
    expect(await all(`${path}${joint}${wide}&api_key_hash=${owner.hash}`, worker)).toEqual([]);
  });
});

test('another account sees none of it, not even by the hash', async () => {
  const foreign = await createKey(server.database, (await createAccount(server.database)).id);
  for (const path of ['usage', 'activity', 'costs']) {
    expect(await all(`${path}?${wide}&api_key_hash=${worker.hash}`, foreign)).toEqual([]);
  }
});

test('accepts a UTC date as a time, and an offset without percent-encoding', async () => {
  const day = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);
  const [named, offset] = [`${day}T00:00:00Z`, `${day}T02:00:00+02:00`];
  const expected = await all(`usage?granularity=day&start_time=${named}`);
  expect(await all(`usage?granularity=day&start_time=${day}`)).toEqual(expected);
  expect(await all(`usage?granularity=day&start_time=${offset}`)).toEqual(expected);
});

test.each([
  ['usage?granularity=week', /^granularity: /],
  ['usage?start=5', /^start: unknown query parameter/],
  ['usage?start_time=yesterday', /^start_time: /],
  ['usage?start_time=20261128', /^start_time: must be .* a day such as/],
  ['usage?start_time=9999-01-01', /^start_time: must not be in the future/],
  ['usage?start_time=2026-11-01T00:00:01Z', /2026-11-01T00:00:00Z or 2026-11-01T00:05:00Z/],
  ['costs?end_time=1790000001', /^end_time: must be a multiple of 5 minutes/],
  [`usage?start_time=${ago(1)}&end_time=${ago(2)}`, /^start_time: must not be after/],
  [`usage?granularity=5m&start_time=${ago(3)}`, /2 days/],
  [`usage?granularity=hour&start_time=${ago(40)}`, /31 days/],
  [`usage?start_time=${ago(400)}`, /366 days/],
  [`activity?start_time=${ago(400)}`, /366 days/],
  ['costs?granularity=5m', /^granularity: /],
  ['costs?group_by=day', /^group_by: /],
  ['activity?model=x', /^model: unknown/],
])('returns 400 for %s', async (path, message) => {
  const answer = await server.call('GET', `/api/v1/${path}`, { key: owner.secret });
  expect(answer.status).toBe(400);
  expect(answer.json.error.message).toMatch(message);
});

function ago(days: number): string {
  const FIVE_MINUTES = 300_000;
  return new Date(Math.floor((Date.now() - days * 86_400_000) / FIVE_MINUTES) * FIVE_MINUTES).toISOString();
}

test('speed: percentiles of completed calls, by model; an inference key sees its own', async () => {
  const { id } = await createAccount(server.database);
  const [all, own] = [
    await createKey(server.database, id),
    await createKey(server.database, id, { role: 'inference' }),
  ];
  const usage = {
    inputTokens: 1,
    outputTokens: 50,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens: 0,
  };
  const made = (latencyMs: number, others: Partial<Parameters<typeof createGeneration>[1]> = {}) =>
    createGeneration(server.database, { accountId: id, apiKeyId: all.id, usage, latencyMs, ...others });
  for (let step = 1; step <= 20; step += 1) {
    await made(step * 100, { firstTokenMs: step * 10 });
  }
  await made(90_000, { status: 'failed', error: { code: 'provider_error', message: 'away' } });
  await made(700, { model: 'acme/large', apiKeyId: own.id });
  const speed = async (key: string, query = '') =>
    (await server.call('GET', `/api/v1/performance?${query}`, { key })).json.data;
  const large = {
    ...{ model: 'acme/large', request_count: 1, failed_count: 0 },
    ...{ first_token_ms: null, latency_ms: { p50: 700, p95: 700 }, tokens_per_second: 71.4 },
  };
  const small = {
    ...{ model: 'acme/small', request_count: 21, failed_count: 1 },
    ...{
      first_token_ms: { p50: 100, p95: 190 },
      latency_ms: { p50: 1_000, p95: 1_900 },
      tokens_per_second: 52.9,
    },
  };
  expect(await speed(all.secret)).toEqual([expect.objectContaining(large), expect.objectContaining(small)]);
  expect(await speed(own.secret)).toEqual([expect.objectContaining(large)]);
  expect(await speed(all.secret, `model=acme/small&api_key_hash=${own.hash}`)).toEqual([]);
  expect(await speed(all.secret, 'end_time=2026-01-01&start_time=2025-12-01')).toEqual([]);
  const first = await server.call('GET', '/api/v1/performance?limit=1', { key: all.secret });
  const [, next = ''] = /<([^>]+)>/.exec(first.headers.get('link') ?? '') ?? [];
  expect((await server.call('GET', next, { key: all.secret })).json.data).toEqual([
    expect.objectContaining(small),
  ]);
});
