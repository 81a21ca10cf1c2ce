import Anthropic from '@anthropic-ai/sdk';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import OpenAI from 'openai';
import { createAccount } from '../factories/account.ts';
import { createKey } from '../factories/api-key.ts';
import { testLedger } from '../factories/ledger.ts';
import { startAnthropicUpstream } from '../factories/upstream-anthropic.ts';
import { startOpenAiUpstream } from '../factories/upstream-openai.ts';
import type { UpstreamServer } from '../factories/upstream-server.ts';
import { createTestDatabase, type TestDatabase } from '../setup/database.ts';
import { chatUsage, costOf, messageUsage, PRICING, type Reported, responseUsage } from './client-usage.ts';
import { Gateway, model } from './gateway.ts';

/** `REPORTED_CALLS=783 npm test -- test/invocation/reported-usage.test.ts` plays that many; docs/api-guide.md has the figure. */
const CALLS = Number(process.env.REPORTED_CALLS ?? 72);
const LANES = 8;

let database: TestDatabase;
let upstreams: UpstreamServer[];
let gateway: Gateway;
let openai: OpenAI;
let anthropic: Anthropic;
let accountId: string;

beforeAll(async () => {
  database = await createTestDatabase();
  accountId = (await createAccount(database.database, { credits: '50.00' })).id;
  const key = await createKey(database.database, accountId);
  upstreams = [await startOpenAiUpstream(), await startAnthropicUpstream()];
  for (const upstream of upstreams) {
    upstream.reset({ cacheRead: 7, reasoning: 'let me think' });
  }
  upstreams[1]?.reset({ cacheRead: 7, cacheWrite: 5, reasoning: 'let me think' });
  gateway = await Gateway.start({
    providers: [
      { id: 'openai', protocol: 'openai', base_url: upstreams[0]?.url, api_key: 'k' },
      { id: 'anthropic', protocol: 'anthropic', base_url: upstreams[1]?.url, api_key: 'k' },
    ],
    models: [
      model('to/openai', [{ provider: 'openai', model: 'gpt' }], { pricing: PRICING }),
      model('to/anthropic', [{ provider: 'anthropic', model: 'claude' }], { pricing: PRICING }),
    ],
    books: {
      ledger: testLedger(database.database),
      caller: { accountId, apiKeyId: key.id, allowedModels: null, spendable: 0n as never },
    },
  });
  openai = new OpenAI({ apiKey: 'k', baseURL: `${gateway.url}/api/v1`, maxRetries: 0 });
  anthropic = new Anthropic({ apiKey: 'k', baseURL: gateway.url, maxRetries: 0 });
});

afterAll(async () => {
  await gateway?.close();
  await Promise.all((upstreams ?? []).map((upstream) => upstream.close()));
  await database?.close();
});

const TOOL = { name: 'weather', description: 'the weather', parameters: { type: 'object' } };

/** The ways clients call, each with its SDK's own way of putting an answer together. */
const WAYS: readonly ((model: string, content: string) => Promise<Reported>)[] = [
  async (id, content) => {
    const messages = [{ role: 'user' as const, content }];
    return chatUsage((await openai.chat.completions.create({ model: id, messages })).usage);
  },
  async (id, content) => {
    const messages = [{ role: 'user' as const, content }];
    const stream = openai.chat.completions.stream({ model: id, messages });
    return chatUsage((await stream.finalChatCompletion()).usage);
  },
  async (id, content) => {
    const messages = [{ role: 'user' as const, content }];
    const options = {
      stream_options: { include_usage: true },
      tools: [{ type: 'function' as const, function: TOOL }],
    };
    const stream = openai.chat.completions.stream({ model: id, messages, ...options });
    return chatUsage((await stream.finalChatCompletion()).usage);
  },
  async (id, content) => responseUsage((await openai.responses.create({ model: id, input: content })).usage),
  async (id, content) => {
    const stream = openai.responses.stream({ model: id, input: content });
    return responseUsage((await stream.finalResponse()).usage);
  },
  async (id, content) => {
    const messages = [{ role: 'user' as const, content }];
    return messageUsage((await anthropic.messages.create({ model: id, max_tokens: 50, messages })).usage);
  },
  async (id, content) => {
    const messages = [{ role: 'user' as const, content }];
    const stream = anthropic.messages.stream({ model: id, max_tokens: 50, messages });
    return messageUsage((await stream.finalMessage()).usage);
  },
];

test(`charges what clients compute from the usage of ${CALLS} answers`, async () => {
  let next = 0;
  let sum = 0n;
  const lane = async () => {
    while (next < CALLS) {
      const index = next;
      next += 1;
      const way = WAYS[index % WAYS.length]!;
      const id = index % 2 === 0 ? 'to/openai' : 'to/anthropic';
      const cost = costOf(await way(id, `tell me about number ${index} ${'and more '.repeat(index % 9)}`));
      sum += cost;
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  const { rows } = await database.database.money.query(
    'SELECT count(*)::int AS calls, sum(charge)::text AS charged FROM generations WHERE account_id = $1',
    [accountId],
  );
  expect(rows[0]).toEqual({ calls: CALLS, charged: sum.toString() });
  expect(sum).toBeGreaterThan(0n);
});
