import type OpenAI from 'openai';
import { PROTOCOLS, ProtocolGateway } from './protocol-gateway.ts';

/**
 * Requests as Cursor sends them to chat completions with its own base URL, by reports of its users: in the form of Responses, or with tools
 * and blocks of Anthropic's. It reads chat answers and expects every call to be of a function.
 */

const PATCH = '*** Begin Patch\n*** Update File: "a.ts"\n*** End Patch';
const SHELL = {
  name: 'Shell',
  description: 'Runs a command',
  parameters: { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] },
};
const APPLY_PATCH = {
  type: 'custom',
  name: 'ApplyPatch',
  description: 'Edits files',
  format: { type: 'grammar', syntax: 'lark', definition: 'start: "*** Begin Patch" /(.|\n)+/' },
};
const USER = { role: 'user', content: [{ type: 'input_text', text: 'Rename it.' }] };
const AGENT = {
  input: [{ role: 'system', content: 'You are an agent.' }, USER],
  tools: [{ type: 'function', ...SHELL, strict: false }, APPLY_PATCH],
  tool_choice: 'auto',
  stream: true,
  store: false,
  include: ['reasoning.encrypted_content'],
  reasoning: { effort: 'medium', summary: 'auto' },
  text: { verbosity: 'low' },
  stream_options: { include_usage: true },
  prompt_cache_retention: '24h',
  truncation: 'disabled',
  previous_response_id: null,
};

let over: ProtocolGateway;
let upstreams: ProtocolGateway['upstreams'];
let openai: OpenAI;

beforeAll(async () => {
  over = await ProtocolGateway.start({ supportedParameters: ['reasoning'] });
  ({ upstreams, openai } = over);
});

beforeEach(() => over.reset());

afterAll(() => over?.close());

/** Sends a body that the SDK's types do not have. */
function create(body: object) {
  return openai.chat.completions.create(body as OpenAI.ChatCompletionCreateParamsNonStreaming);
}

interface Heard {
  readonly text: string;
  readonly calls: readonly { id: string; type: string; function: { name: string; arguments: string } }[];
  readonly finish: string | null | undefined;
  readonly usage: OpenAI.CompletionUsage | null | undefined;
}

/** Reads a stream as Cursor does: by the index of calls, which are all of functions. */
async function heard(body: object): Promise<Heard> {
  const stream = await openai.chat.completions.create({
    ...body,
    stream: true,
  } as OpenAI.ChatCompletionCreateParamsStreaming);
  const calls: { id: string; type: string; function: { name: string; arguments: string } }[] = [];
  let [text, finish, usage]: [string, Heard['finish'], Heard['usage']] = ['', undefined, undefined];
  for await (const chunk of stream) {
    const [choice] = chunk.choices;
    text += choice?.delta.content ?? '';
    finish = choice?.finish_reason ?? finish;
    usage = chunk.usage ?? usage;
    for (const { index, id = '', function: called } of choice?.delta.tool_calls ?? []) {
      calls[index] ??= { id, type: 'function', function: { name: called?.name ?? '', arguments: '' } };
      calls[index].function.arguments += called?.arguments ?? '';
    }
  }
  return { text, calls, finish, usage };
}

/** Returns name and input of the calls in the history of a request, in whatever protocol. */
// biome-ignore lint/suspicious/noExplicitAny: bodies of many shapes
function callsIn(body: any): unknown[][] {
  // biome-ignore lint/suspicious/noExplicitAny: items of many shapes
  const items: any[] = body.input ?? body.messages;
  return items
    .flatMap((item) => item.tool_calls ?? (Array.isArray(item.content) ? item.content : [item]))
    .map((item) => item.function ?? item)
    .filter(({ name }) => name !== undefined)
    .map(({ name, arguments: args, input }) => [name, args === undefined ? input : JSON.parse(args)]);
}

describe.each(PROTOCOLS)('over %s', (protocol) => {
  test.each(['Shell', 'ApplyPatch'])(
    'a whole agent request in the form of Responses calls %s',
    async (name) => {
      const isFree = name === 'ApplyPatch';
      const args = isFree ? { input: PATCH } : { command: 'ls' };
      const told = isFree ? PATCH : JSON.stringify(args);
      upstreams[protocol].reset({ call: { name, arguments: args } });
      const answer = await heard({ ...AGENT, model: protocol });
      expect(answer.calls).toEqual([
        { id: expect.any(String), type: 'function', function: { name, arguments: told } },
      ]);
      expect(answer.finish).toBe('tool_calls');
      expect(answer.usage?.completion_tokens).toBeGreaterThan(0);
      expect(over.gateway.ledger.last).toMatchObject({ status: 'completed' });

      const [call] = answer.calls;
      const next = [
        { type: 'function_call', call_id: call?.id, name, arguments: told },
        { type: 'function_call_output', call_id: call?.id, output: 'done' },
      ];
      upstreams[protocol].reset();
      const whole = await create({
        ...AGENT,
        stream: false,
        model: protocol,
        input: [...AGENT.input, ...next],
      });
      expect(whole.object).toBe('chat.completion');
      expect(callsIn(upstreams[protocol].last.body)).toEqual([
        isFree && protocol === 'responses' ? [name, PATCH] : [name, args],
      ]);
    },
  );

  test('a chat request with flat tools beside nested ones, and blocks of Anthropic', async () => {
    upstreams[protocol].reset({ call: { name: 'ApplyPatch', arguments: { input: PATCH } } });
    const body = {
      model: protocol,
      messages: [
        { role: 'user', content: 'Look.' },
        {
          role: 'assistant',
          content: [
            { type: 'text', text: 'I look.' },
            { type: 'tool_use', id: 'toolu_1', name: 'Read', input: { path: 'a.ts' } },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'text', text: 'const a = 1' }] },
            { type: 'text', text: 'Go on.' },
          ],
        },
        { role: 'assistant', content: 'I go on.' },
        { role: 'user', content: 'Rename it.' },
      ],
      tools: [
        { type: 'function', function: SHELL },
        { name: 'Read', description: 'Reads a file', input_schema: { type: 'object', properties: {} } },
        APPLY_PATCH,
      ],
      tool_choice: { type: 'auto' },
    };
    const answer = await heard(body);
    expect(answer.calls).toEqual([
      { id: expect.any(String), type: 'function', function: { name: 'ApplyPatch', arguments: PATCH } },
    ]);
    const sent = JSON.stringify(upstreams[protocol].last.body);
    for (const word of [
      '"Shell"',
      '"Read"',
      '"ApplyPatch"',
      'const a = 1',
      'I look.',
      'Go on.',
      'Rename it.',
    ]) {
      expect(sent).toContain(word);
    }
    const whole = await create(body);
    expect(whole.choices[0]?.message.tool_calls).toMatchObject([
      { type: 'function', function: { name: 'ApplyPatch', arguments: PATCH } },
    ]);
  });
});

test('blocks of Anthropic in the form of Responses become items', async () => {
  await create({
    model: 'responses',
    input: [
      { role: 'user', content: 'Look.' },
      {
        role: 'assistant',
        content: [{ type: 'tool_use', id: 'toolu_1', name: 'Read', input: { path: 'a' } }],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'text' }] },
    ],
    tools: [{ name: 'Read', input_schema: { type: 'object', properties: {} } }],
    tool_choice: { type: 'any' },
  });
  expect(upstreams.responses.last.body).toMatchObject({
    input: [
      { role: 'user' },
      { type: 'function_call', call_id: 'toolu_1', name: 'Read', arguments: '{"path":"a"}' },
      { type: 'function_call_output', call_id: 'toolu_1', output: 'text' },
    ],
    tools: [{ type: 'function', name: 'Read', parameters: { type: 'object', properties: {} } }],
    tool_choice: 'required',
  });
});

test.each([
  [{ input: [{ role: 'nobody', content: 'x' }] }, 'input[0].role: must be'],
  [
    { input: 'x', tools: [{ type: 'mcp', server_url: 'https://a.example' }] },
    'only tools that the caller runs',
  ],
  [{ input: 'x', previous_response_id: 'resp_1' }, 'responses are not stored here'],
  [{ input: [5] }, 'input[0]: must be an object'],
  [{}, 'messages: is required'],
])('%j is rejected in the words of its form', async (body, words) => {
  await expect(create({ model: 'openai', ...body })).rejects.toMatchObject({
    status: 400,
    message: expect.stringContaining(words),
  });
});
