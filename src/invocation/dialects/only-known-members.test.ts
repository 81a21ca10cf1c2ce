import { atOnce } from '../../lib/steps.ts';
import type { JsonObject } from '../../providers/json.ts';
import { knownMembersOf } from '../../providers/known-members.ts';
import type { RequestDialect } from '../../providers/provider.types.ts';
import { CHAT_MEMBERS } from '../members/chat-members.ts';
import { modelRules } from './model-rules.ts';
import { type RequestTranslation, translateRequest } from './translate-request.ts';
import { untranslatedMembers } from './untranslated-members.ts';

const OPENAI = 'https://api.openai.com/v1';
const MISTRAL = 'https://api.mistral.ai/v1';
const GROQ = 'https://api.groq.com/openai/v1';
const CEREBRAS = 'https://api.cerebras.ai/v1';
const MESSAGES = [{ role: 'user', content: 'hi' }];

function translation(from: RequestDialect, base_url: string, model: string): RequestTranslation {
  const provider = {
    dialect: 'chat',
    requestDialect: 'chat',
    knownMembers: knownMembersOf({ base_url, pass_through: [] }),
  } as const;
  const rules = modelRules({ provider: 'p', model }, provider);
  return { from, to: 'chat', maxOutputTokens: 4_000, reasoning: true, rules, betas: [] };
}

const sent = (body: JsonObject, to: RequestTranslation) => atOnce(translateRequest(body, to));
const ignored = (body: JsonObject, to: RequestTranslation) => atOnce(untranslatedMembers(body, to));

/** A request with every member that may reach a provider. */
const EVERYTHING: JsonObject = {
  ...Object.fromEntries(Object.keys(CHAT_MEMBERS).map((name) => [name, 1])),
  messages: MESSAGES,
  tools: [{ type: 'function', function: { name: 'f' } }],
  tool_choice: 'auto',
  reasoning: { effort: 'high' },
  reasoning_effort: 'high',
};

test.each([
  [OPENAI, 'gpt-4.1'],
  [OPENAI, 'gpt-5.2'],
  [MISTRAL, 'mistral-medium-latest'],
  [MISTRAL, 'a-fine-tuned-model'],
  [GROQ, 'openai/gpt-oss-120b'],
  [CEREBRAS, 'zai-glm-4.7'],
])('%s gets for %s only members that it knows, and every other is reported', (base_url, model) => {
  const to = translation('chat', base_url, model);
  const known = knownMembersOf({ base_url, pass_through: [] })?.chat ?? [];
  const names = Object.keys(sent(EVERYTHING, to));
  expect(names.filter((name) => !known.includes(name))).toEqual([]);
  const reported = ignored(EVERYTHING, to);
  expect(reported.filter((name) => names.includes(name))).toEqual([]);
  const treated = ['include_reasoning', 'reasoning', 'seed', 'random_seed'];
  const missing = Object.keys(EVERYTHING).filter((name) => ![...names, ...reported].includes(name));
  expect(missing.filter((name) => !treated.includes(name))).toEqual([]);
});

test('a seed has the name that the server knows', () => {
  const seeded = { messages: MESSAGES, seed: 7 };
  const mistral = translation('chat', MISTRAL, 'mistral-medium-latest');
  expect(sent(seeded, mistral)).toEqual({ messages: MESSAGES, random_seed: 7 });
  expect(ignored(seeded, mistral)).toEqual([]);
  const openai = translation('chat', OPENAI, 'gpt-4.1');
  expect(sent({ messages: MESSAGES, random_seed: 7 }, openai)).toEqual(seeded);
});

test('an embeddings request has the members that the server knows, and a client gets the form of vectors that it asked for', () => {
  const body = { input: 'a', dimensions: 256, encoding_format: 'base64', user: 'ada' };
  const mistral = translation('embeddings', MISTRAL, 'codestral-embed');
  expect(sent(body, mistral)).toEqual({ input: 'a', output_dimension: 256 });
  expect(ignored(body, mistral)).toEqual(['user']);
  for (const base_url of [OPENAI, 'http://127.0.0.1:8000/v1']) {
    const to = translation('embeddings', base_url, 'text-embedding-3-small');
    expect(sent(body, to)).toEqual(body);
    expect(ignored(body, to)).toEqual([]);
  }
});

test('what a model refused earlier is text for servers that know no other place for it', () => {
  const refused = { role: 'assistant', content: null, refusal: 'No.' };
  const parts = [
    { type: 'text', text: 'Well. ' },
    { type: 'refusal', refusal: 'No' },
  ];
  const inParts = { role: 'assistant', content: parts, refusal: '!' };
  const body = { messages: [...MESSAGES, refused, ...MESSAGES, inParts, ...MESSAGES] };
  for (const [base_url, model] of [
    [MISTRAL, 'mistral-medium-latest'],
    [GROQ, 'openai/gpt-oss-120b'],
  ] as const) {
    const to = translation('chat', base_url, model);
    const texts = ['Well. ', 'No', '!'].map((text) => ({ type: 'text', text }));
    expect(sent(body, to).messages).toEqual([
      ...MESSAGES,
      { role: 'assistant', content: 'No.' },
      ...MESSAGES,
      { role: 'assistant', content: texts },
      ...MESSAGES,
    ]);
    expect(ignored(body, to)).toEqual([]);
  }
  expect(sent(body, translation('chat', OPENAI, 'gpt-4.1'))).toEqual(body);
});

test('reasoning that the server has no word for is reported, unless its effort is', () => {
  const to = translation('chat', OPENAI, 'gpt-5.2');
  expect(ignored({ messages: MESSAGES, reasoning: { max_tokens: 500 } }, to)).toEqual(['reasoning']);
  expect(ignored({ messages: MESSAGES, reasoning: { effort: 'low' } }, to)).toEqual([]);
  expect(ignored({ messages: MESSAGES, include_reasoning: false }, to)).toEqual([]);
});

test('Mistral gets no id of the end user, as agents send it, and no names of people', () => {
  const body = { messages: MESSAGES, metadata: { user_id: 'user_1' } };
  const to = translation('messages', MISTRAL, 'mistral-medium-latest');
  expect(sent(body, to)).toEqual({ messages: MESSAGES });
  expect(ignored(body, to)).toEqual(['metadata.user_id']);
  const openai = translation('messages', OPENAI, 'gpt-4.1');
  expect(sent(body, openai)).toMatchObject({ user: 'user_1' });
  expect(ignored(body, openai)).toEqual([]);

  const named = { messages: [{ role: 'user', name: 'ada', content: 'hi' }] };
  const chat = translation('chat', MISTRAL, 'mistral-medium-latest');
  expect(sent(named, chat)).toEqual({ messages: MESSAGES });
  expect(ignored(named, chat)).toEqual(['messages[].name']);
  const call = { id: 'abcdefghi', type: 'function', function: { name: 'f', arguments: '{}' } };
  const result = { role: 'tool', tool_call_id: 'abcdefghi', name: 'f', content: 'done' };
  const called = {
    messages: [...MESSAGES, { role: 'assistant', content: null, tool_calls: [call] }, result],
  };
  expect(sent(called, chat)).toEqual(called);
  expect(ignored(called, chat)).toEqual([]);
});

test.each([
  [GROQ, 'moonshotai/kimi-k2-instruct'],
  [CEREBRAS, 'zai-glm-4.7'],
])('%s gets no earlier reasoning for %s, as it rejects that', (base_url, model) => {
  const answer = { role: 'assistant', content: 'a', refusal: '', reasoning_content: 'hm' };
  const body = { messages: [...MESSAGES, answer, ...MESSAGES] };
  const to = translation('chat', base_url, model);
  const plain = [...MESSAGES, { role: 'assistant', content: 'a' }, ...MESSAGES];
  expect(sent(body, to)).toEqual({ messages: plain });
  expect(ignored(body, to)).toEqual(['messages[].reasoning_content']);
  const thought = { type: 'thinking', thinking: 'hm', signature: 's' };
  const turn = { role: 'assistant', content: [thought, { type: 'text', text: 'a' }] };
  const message = { messages: [...MESSAGES, turn, ...MESSAGES] };
  const from = translation('messages', base_url, model);
  expect(sent(message, from)).toEqual({ messages: plain });
  expect(ignored(message, from)).toEqual(['messages[].content[].thinking']);
});

test('Mistral gets parameters with every function', () => {
  const body = { messages: MESSAGES, tools: [{ type: 'function', function: { name: 'f' } }] };
  expect(sent(body, translation('chat', MISTRAL, 'mistral-medium-latest')).tools).toEqual([
    { type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } },
  ]);
});

test.each(['o1', 'o3-mini', 'o4-mini-2025-04-16', 'openai/o3'])(
  '%s is not told how many tools to call',
  (model) => {
    const to = translation('chat', 'http://127.0.0.1:8000/v1', model);
    const body = { messages: MESSAGES, parallel_tool_calls: false };
    expect(sent(body, to)).toEqual({ messages: MESSAGES });
    expect(ignored(body, to)).toEqual(['parallel_tool_calls']);
  },
);
