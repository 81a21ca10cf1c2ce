import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import OpenAI from 'openai';
import type { ResponseFunctionToolCall, ResponseInput } from 'openai/resources/responses/responses';
import { Gateway, model } from './gateway.ts';

/**
 * Gemini wants the signature of a call back with it; Responses has no member for it. OpenAI wants the phases of messages back; chat, through
 * which all answers go, has no member for those.
 */

const SIGNATURE = 'c2ln+/=';
const EXTRA = { google: { thought_signature: SIGNATURE } };
const CALL = {
  ...{ index: 0, id: 'call_1', type: 'function', extra_content: EXTRA },
  function: { name: 'look', arguments: '{"city":"Oslo"}' },
};
const PHASES = [
  { phase: 'commentary', text: 'Let me see. ' },
  { phase: 'final_answer', text: 'It rains.' },
].map(({ phase, text }, index) => ({
  ...{ id: `msg_${index}`, type: 'message', role: 'assistant', phase },
  content: [{ type: 'output_text', text, annotations: [] }],
}));
const USAGE = { prompt_tokens: 20, completion_tokens: 8, total_tokens: 28 };

// biome-ignore lint/suspicious/noExplicitAny: requests of several dialects
let last: any;
let upstream: Server;
let gateway: Gateway;
let openai: OpenAI;

beforeAll(async () => {
  upstream = createServer(async (request, response) => {
    last = await json(request);
    const choice = { index: 0, finish_reason: 'tool_calls' };
    if (last.stream && last.input) {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(phasesAsEvents());
      return;
    }
    if (last.stream) {
      const chunk = { choices: [{ ...choice, delta: { tool_calls: [CALL] } }], usage: USAGE };
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`);
      return;
    }
    response.writeHead(200, { 'content-type': 'application/json' });
    const hi = [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hi' }] }];
    const output = last.input?.length === 1 ? PHASES : hi;
    const usage = { input_tokens: 20, output_tokens: 8, total_tokens: 28 };
    const said = {
      choices: [{ ...choice, message: { role: 'assistant', tool_calls: [CALL] } }],
      usage: USAGE,
    };
    response.end(JSON.stringify(last.input ? { status: 'completed', output, usage } : said));
  });
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
  const base_url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/v1`;
  gateway = await Gateway.start({
    providers: ['openai', 'responses'].map((protocol) => ({ id: protocol, protocol, base_url })),
    models: ['openai', 'responses'].map((id) =>
      model(id, [{ provider: id, model: id }], { endpoints: ['chat'] }),
    ),
  });
  openai = new OpenAI({ apiKey: 'k', baseURL: `${gateway.url}/api/v1`, maxRetries: 0 });
});

afterAll(async () => {
  await gateway?.close();
  upstream?.close();
});

test.each([false, true])('the signature of a call comes back with it (stream: %s)', async (stream) => {
  const asked = {
    ...{ model: 'openai', store: false },
    tools: [{ type: 'function' as const, name: 'look', parameters: {}, strict: false }],
  };
  const first = stream
    ? await openai.responses.stream({ ...asked, input: 'hello' }).finalResponse()
    : await openai.responses.create({ ...asked, input: 'hello' });
  const call = first.output.find(({ type }) => type === 'function_call') as ResponseFunctionToolCall;
  expect(call).toMatchObject({ name: 'look', arguments: '{"city":"Oslo"}' });
  const output = { type: 'function_call_output' as const, call_id: call.call_id, output: 'rain' };
  const input = [{ role: 'user', content: 'hello' }, ...first.output, output] as ResponseInput;
  await openai.responses.create({ ...asked, input });
  const { index: _, ...exact } = CALL;
  expect(last.messages.slice(1)).toEqual([
    { role: 'assistant', content: null, tool_calls: [exact] },
    { role: 'tool', tool_call_id: 'call_1', content: 'rain' },
  ]);

  // another provider gets its own form of the id, without what it does not know
  await openai.responses.create({ ...asked, model: 'responses', input });
  expect(last.input.slice(1)).toMatchObject([
    { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{"city":"Oslo"}' },
    { type: 'function_call_output', call_id: 'call_1', output: 'rain' },
  ]);
});

test('free text calls carry it too', async () => {
  const call_id = `call_1__thought__${Buffer.from(SIGNATURE).toString('base64url')}`;
  const input = [
    { role: 'user', content: 'hello' },
    { type: 'custom_tool_call', call_id, name: 'patch', input: 'x' },
    { type: 'custom_tool_call_output', call_id, output: 'done' },
  ] as ResponseInput;
  await openai.responses.create({ model: 'openai', input });
  expect(last.messages.slice(1)).toMatchObject([
    { role: 'assistant', tool_calls: [{ id: 'call_1', extra_content: EXTRA }] },
    { role: 'tool', tool_call_id: 'call_1', content: 'done' },
  ]);
  await openai.responses.create({ model: 'responses', input });
  expect(last.input.slice(1)).toMatchObject([{ call_id: 'call_1' }, { call_id: 'call_1' }]);
});

function phasesAsEvents(): string {
  const pieces = PHASES.flatMap((item, output_index) => {
    const delta = item.content[0]?.text;
    const place = { output_index, item_id: item.id, content_index: 0 };
    return [
      { type: 'response.output_item.added', output_index, item: { ...item, content: [] } },
      { type: 'response.output_text.delta', ...place, delta },
      { type: 'response.output_item.done', output_index, item },
    ];
  });
  const usage = { input_tokens: 20, output_tokens: 8, total_tokens: 28 };
  const response = { status: 'completed', output: PHASES, usage };
  return [...pieces, { type: 'response.completed', response }]
    .map((event) => `data: ${JSON.stringify(event)}\n\n`)
    .join('');
}

test.each([false, true])('each message keeps its phase, which goes back (stream: %s)', async (stream) => {
  const asked = { model: 'responses', input: [{ role: 'user' as const, content: 'hello' }] };
  const added: unknown[] = [];
  const answer = stream
    ? await openai.responses
        .stream(asked)
        .on('response.output_item.added', ({ item }) => added.push(item.type === 'message' && item.phase))
        .finalResponse()
    : await openai.responses.create(asked);
  const said = (items: unknown[]) =>
    (items as typeof PHASES).map(({ phase, content }) => ({ phase, text: content[0]?.text }));
  expect(said(answer.output)).toEqual(said(PHASES));
  expect(added).toEqual(stream ? ['commentary', 'final_answer'] : []);

  const next = { role: 'user' as const, content: 'and now?' };
  await openai.responses.create({
    ...asked,
    input: [...asked.input, ...answer.output, next] as ResponseInput,
  });
  expect(said(last.input.slice(1, 3))).toEqual(said(PHASES));

  // chat clients get one text, and no member that chat does not have
  const messages = [{ role: 'user' as const, content: 'hello' }];
  const chat = { model: 'responses', messages };
  const { message } = stream
    ? (await openai.chat.completions.stream(chat).finalChatCompletion()).choices[0]!
    : (await openai.chat.completions.create(chat)).choices[0]!;
  expect(message.content).toBe('Let me see. It rains.');
  expect(message).not.toHaveProperty('phases');
});
