import { costCeiling, ONE_CALL } from '../../src/catalog/pricing.ts';
import { newUuid } from '../../src/lib/ids.ts';
import { AGENT_REQUESTS, type AgentRequest } from './agent-requests.ts';
import { Gateway, model, SIMPLE_PRICES } from './gateway.ts';
import { HonestProvider, ITEM_TOKENS } from './honest-provider.ts';

/** Requests that agents really send are served, and the hold for them is close to the maximum cost. */

const HELD_AT_MOST_PERCENT = 150n;
/** Approximate number of tokens in Anthropic's vocabulary per token of ours, for English and code. */
const ANTHROPIC_RATIO = 1.3;

let provider: HonestProvider;
let gateway: Gateway;

beforeAll(async () => {
  provider = await new HonestProvider().start();
  const route = (dialect: string) => [{ provider: dialect, model: '200000' }];
  const takes = { contextLength: 200_000, maxOutputTokens: 32_000, itemTokens: ITEM_TOKENS };
  gateway = await Gateway.start({
    providers: [
      { id: 'chat', protocol: 'openai', base_url: provider.url },
      { id: 'messages', protocol: 'anthropic', base_url: provider.url },
    ],
    models: [
      model('chat', route('chat'), takes),
      model('messages', route('messages'), takes),
      model('aloud', [{ provider: 'chat', model: 'deepseek-chat' }], takes),
    ],
  });
});

afterAll(async () => {
  await gateway?.close();
  await provider?.close();
});

const PATHS = { chat: '/api/v1/chat/completions', messages: '/v1/messages' };

function call(path: string, modelId: string, body: object, user: string): Promise<Response> {
  const named = path === PATHS.chat ? { user } : { metadata: { user_id: user } };
  return fetch(`${gateway.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...body, ...named, model: modelId }),
  });
}

describe.each(['chat', 'messages'] as const)('with a provider that speaks %s', (served) => {
  beforeAll(() => {
    provider.template =
      served === 'messages' ? (tokens) => Math.ceil(tokens * ANTHROPIC_RATIO) : (tokens) => tokens;
  });

  test.each(AGENT_REQUESTS.map((one) => [one.dialect, one.name, one] as [string, string, AgentRequest]))(
    '%s: %s',
    async (_dialect, _name, request) => {
      const user = newUuid();
      const response = await call(PATHS[request.dialect], served, request.body, user);
      expect({ status: response.status, error: response.ok ? null : await response.text() }).toEqual({
        status: 200,
        error: null,
      });
      const bill = provider.bills.get(user)!;
      const bound = costCeiling(bill.input, request.body.max_tokens, ONE_CALL, SIMPLE_PRICES);
      const held = gateway.ledger.requests.at(-1)!.amount;
      expect(held * 100n).toBeLessThanOrEqual(bound * HELD_AT_MOST_PERCENT);
      expect(gateway.ledger.last.due).toBeLessThanOrEqual(held);
    },
  );
});

test('includes thoughts in the hold for models that get them again', async () => {
  provider.template = (tokens) => tokens;
  const thought = { type: 'thinking', thinking: 'The order was short by two pallets. '.repeat(800) };
  const use = { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} };
  const result = { type: 'tool_result', tool_use_id: 'toolu_1', content: 'done' };
  const messages = [
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: [thought, use] },
    { role: 'user', content: [result] },
  ];
  const user = newUuid();
  expect((await call(PATHS.messages, 'aloud', { max_tokens: 5, messages }, user)).status).toBe(200);
  expect(provider.bills.get(user)!.input).toBeGreaterThan(6_000);
  expect(gateway.ledger.last.due).toBeLessThanOrEqual(gateway.ledger.requests.at(-1)!.amount);
});
