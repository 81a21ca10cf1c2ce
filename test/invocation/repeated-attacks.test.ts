import { costCeiling, ONE_CALL } from '../../src/catalog/pricing.ts';
import { newUuid } from '../../src/lib/ids.ts';
import { nanoUsd } from '../../src/lib/money.ts';
import { eventually } from '../factories/eventually.ts';
import { Gateway, model, SIMPLE_PRICES } from './gateway.ts';
import { HonestProvider, ITEM_TOKENS } from './honest-provider.ts';

/**
 * Requests that once got more than they paid for, as they were sent. Each is rejected before a provider is asked, or pays at least what
 * the provider's own count is worth, whatever its account has.
 */

const LONG = 'The quick brown fox jumps over the lazy dog. '.repeat(3_500);
const [CHAT, MESSAGES] = ['/api/v1/chat/completions', '/vendorx/v1/messages'];
const ASK = [{ role: 'user', content: 'hi' }];
const byUrl = { type: 'url', url: 'https://x.example/y.pdf' };

let provider: HonestProvider;
let gateway: Gateway;

beforeAll(async () => {
  provider = await new HonestProvider().start();
  const pass_through = ['documents', 'chat_template_kwargs'];
  const takes = { contextLength: 200_000, itemTokens: ITEM_TOKENS };
  const taking = (...inputModalities: ('text' | 'image' | 'file')[]) => ({ ...takes, inputModalities });
  gateway = await Gateway.start({
    providers: [
      { id: 'chat', protocol: 'openai', base_url: provider.url, pass_through },
      { id: 'messages', protocol: 'anthropic', base_url: provider.url, pass_through },
    ],
    models: (['chat', 'messages'] as const).flatMap((spoken) => {
      const routes = [{ provider: spoken, model: '200000' }];
      return [
        model(spoken, routes, taking('text', 'image', 'file')),
        model(`${spoken}-text`, routes, taking('text')),
        model(`${spoken}-open`, routes, { ...taking('text', 'file'), itemTokens: {} }),
      ];
    }),
  });
});

afterAll(async () => {
  await gateway?.close();
  await provider?.close();
});

type Attack = readonly [name: string, path: string | undefined, body: object];

const part = (value: object) => ({ messages: [{ role: 'user', content: [value] }] });

const ATTACKS: readonly Attack[] = [
  [
    'a message that calls itself a call',
    CHAT,
    { messages: [{ ...ASK[0], type: 'tool_use', content: LONG }] },
  ],
  ['a message that calls itself an image', CHAT, { messages: [{ ...ASK[0], type: 'image', content: LONG }] }],
  ['a part that calls itself a call', CHAT, part({ type: 'tool_use', text: LONG })],
  ['documents for a template', CHAT, { messages: ASK, documents: [{ text: LONG }] }],
  ['arguments of a template', CHAT, { messages: ASK, chat_template_kwargs: { a: LONG } }],
  ['a template', CHAT, { messages: ASK, chat_template: LONG }],
  ['the id of a call', CHAT, { messages: [...ASK, { role: 'tool', tool_call_id: LONG, content: '' }] }],
  ['the id of a message', CHAT, { messages: [{ ...ASK[0], id: LONG }] }],
  ['a cache mark', CHAT, part({ type: 'text', text: 'a', cache_control: { type: LONG } })],
  ['the name of a member', CHAT, { messages: [{ ...ASK[0], [LONG]: 1 }] }],
  ['an answer in function_call', CHAT, { messages: ASK, functions: [{ name: 'f', description: LONG }] }],
  [
    'an answer in the stop sequence, chat',
    CHAT,
    { messages: [{ ...ASK[0], content: LONG }], stop: ['yes', 'no'] },
  ],
  [
    'an answer in the stop sequence',
    MESSAGES,
    { messages: [{ ...ASK[0], content: LONG }], stop_sequences: ['A'] },
  ],
  ['a cap of the provider', CHAT, { messages: ASK, max_tokens: 5, n_predict: 20_000 }],
  ['a cap in extra_body', CHAT, { messages: ASK, max_tokens: 5, extra_body: { n_predict: 20_000 } }],
  ['a search', CHAT, { messages: ASK, search_parameters: { mode: 'on' } }],
  ['a search of Qwen', CHAT, { messages: ASK, enable_search: true }],
  ['a tool that searches', CHAT, { messages: ASK, tools: [{ type: 'live_search' }] }],
  ['a tool without a type', CHAT, { messages: ASK, tools: [{ google_search: {} }] }],
  ['a priority', CHAT, { messages: ASK, priority: -5, service_tier: 'priority' }],
  [
    'an hour of caching',
    undefined,
    part({ type: 'text', text: LONG, cache_control: { type: 'ephemeral', ttl: '1h' } }),
  ],
];

/** References that providers fetch. */
const REFERENCES: readonly Attack[] = [
  ['a document by its URL', MESSAGES, part({ type: 'document', source: byUrl })],
  ['a file by its id', CHAT, part({ type: 'file', file: { file_id: 'f' } })],
  ['a video by its URL', CHAT, part({ type: 'video_url', video_url: { url: 'https://x.example/v' } })],
  ['an image by its URL', CHAT, part({ type: 'image_url', image_url: { url: 'https://x.example/a.png' } })],
];

/** A cent does not pay for a long prompt, a dollar does. */
const BALANCES = ['0.01', '1'];
const NANO_USD = 1_000_000_000;

const EVERYWHERE = ['chat', 'messages'];
const CASES = [
  ...ATTACKS.map((one) => [one, EVERYWHERE] as const),
  ...REFERENCES.map((one) => [one, [...EVERYWHERE, 'chat-text', 'messages-text', 'messages-open']] as const),
].flatMap(([[name, path, body], ids]) =>
  (path === undefined ? [CHAT, MESSAGES] : [path]).flatMap((to) =>
    ids.flatMap((id) => BALANCES.map((balance) => [name, to, id, balance, body] as const)),
  ),
);

async function attack(path: string, id: string, body: object, leave?: (sent: AbortController) => void) {
  const user = newUuid();
  const named = path === CHAT ? { user } : { metadata: { user_id: user } };
  const sent = new AbortController();
  leave?.(sent);
  const status = await fetch(gateway.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ max_tokens: 50, ...body, ...named, model: id }),
    signal: sent.signal,
  })
    .then(async (response) => {
      await response.text();
      return response.status;
    })
    .catch(() => 0);
  await eventually(async () => gateway.inFlight.size === 0);
  const bill = provider.bills.get(user);
  return { status, bill, worth: bill && costCeiling(bill.input, bill.output, ONE_CALL, SIMPLE_PRICES) };
}

test.each(CASES)('%s at %s of %s with %s USD', async (_name, path, id, balance, body) => {
  gateway.ledger.balance = nanoUsd(BigInt(Number(balance) * NANO_USD));
  const before = gateway.ledger.settlements.length;
  const { status, worth } = await attack(path, id, body);
  if (worth === undefined) {
    expect([400, 402]).toContain(status);
    expect(gateway.ledger.settlements.slice(before).every(({ charge }) => charge.amount === 0n)).toBe(true);
    return;
  }
  expect(status).toBe(200);
  const { charge, shortfall } = gateway.ledger.last;
  expect({ paid: charge.amount * 100n >= worth * 95n, shortfall }).toEqual({ paid: true, shortfall: 0n });
});

test.each([false, true])('charges a client that hangs up the whole answer (stream: %s)', async (stream) => {
  gateway.ledger.balance = nanoUsd(1_000_000_000n);
  const asked = provider.requests;
  const leave = (sent: AbortController) => {
    const look = setInterval(() => {
      if (provider.requests > asked) {
        clearInterval(look);
        sent.abort();
      }
    }, 1);
  };
  const { worth } = await attack(CHAT, 'chat', { messages: ASK, max_tokens: 400, stream }, leave);
  expect(gateway.ledger.last.charge.amount).toBeGreaterThanOrEqual(worth!);
});

test('charges an image that costs more than declared to the balance, beyond the hold', async () => {
  gateway.ledger.balance = nanoUsd(1_000_000_000n);
  provider.template = (tokens) => tokens + 36_835;
  const image = part({ type: 'image_url', image_url: { url: 'https://x.example/a.png' } });
  const { worth } = await attack(CHAT, 'chat', image);
  provider.template = (tokens) => tokens;
  const { charge, shortfall } = gateway.ledger.last;
  expect(charge.amount).toBe(worth);
  expect(charge.amount).toBeGreaterThan(gateway.ledger.requests.at(-1)!.amount);
  expect(shortfall).toBe(0n);
});
