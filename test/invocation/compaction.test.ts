import type OpenAI from 'openai';
import type { ResponseCompactionItem, ResponseInput } from 'openai/resources/responses/responses';
import { PROTOCOLS, ProtocolGateway } from './protocol-gateway.ts';

/** Codex compacts long conversations through the API when its own provider is given our address. */

const SENTENCE = 'The quick brown fox jumps over the lazy dog';
const TOOL = { type: 'function' as const, name: 'f', strict: false, parameters: {} };
const CONVERSATION: ResponseInput = [
  { role: 'developer', content: 'Be brief.' },
  { role: 'user', content: 'Rename it.' },
  { role: 'assistant', content: 'I did.' },
];

let over: ProtocolGateway;
let upstreams: ProtocolGateway['upstreams'];
let openai: OpenAI;

beforeAll(async () => {
  over = await ProtocolGateway.start();
  ({ upstreams, openai } = over);
});

beforeEach(() => over.reset());

afterAll(() => over?.close());

function compaction(name: string, input: ResponseInput = CONVERSATION) {
  return {
    model: name,
    input: [...input, { type: 'compaction_trigger' as const }],
    tools: [TOOL],
    tool_choice: 'auto' as const,
    text: { format: { type: 'json_object' as const } },
  };
}

describe.each(PROTOCOLS)('over %s', (protocol) => {
  test('a trigger is answered with one compaction item, which stands for the conversation in later requests', async () => {
    const { output, status, usage } = await openai.responses.create(compaction(protocol));
    expect(status).toBe('completed');
    expect(usage?.output_tokens).toBeGreaterThan(0);
    expect(output).toEqual([
      { id: expect.stringMatching(/^cmp_/), type: 'compaction', encrypted_content: expect.any(String) },
    ]);
    const asked = JSON.stringify(upstreams[protocol].last.body);
    expect(asked).toContain('Rename it.');
    expect(asked).toContain('Write the summary');
    expect(asked).not.toContain('json_object');
    expect(asked).toContain('"none"');

    const items = output as ResponseCompactionItem[];
    await openai.responses.create({
      model: protocol,
      input: [...items, { role: 'user', content: 'Go on.' }],
    });
    const next = JSON.stringify(upstreams[protocol].last.body);
    expect(next).toContain(SENTENCE);
    expect(next).toContain('Go on.');
    expect(next).not.toContain('Rename it.');
  });

  test('the same in a stream', async () => {
    const events: OpenAI.Responses.ResponseStreamEvent[] = [];
    for await (const event of await openai.responses.create({ ...compaction(protocol), stream: true })) {
      events.push(event);
    }
    expect(events.map(({ type }) => type)).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.output_item.done',
      'response.completed',
    ]);
    expect(events.at(-2)).toMatchObject({ output_index: 0, item: { type: 'compaction' } });
    expect(events.at(-1)).toMatchObject({ response: { output: [{ type: 'compaction' }] } });
  });

  test("compact() returns the user's messages and the summary, as the next input", async () => {
    const input: ResponseInput = [...CONVERSATION, { role: 'user', content: 'And test it.' }];
    const compacted = await openai.responses.compact({ model: protocol, input });
    expect(compacted).toMatchObject({ object: 'response.compaction', usage: { output_tokens: 9 } });
    expect(compacted.output).toMatchObject([
      { type: 'message', role: 'user', content: 'Rename it.' },
      { type: 'message', role: 'user', content: 'And test it.' },
      { type: 'compaction' },
    ]);
    const output = compacted.output as ResponseInput;
    await openai.responses.create({
      model: protocol,
      input: [...output, { role: 'user', content: 'Go on.' }],
    });
    const next = JSON.stringify(upstreams[protocol].last.body);
    for (const words of ['Rename it.', 'And test it.', SENTENCE, 'Go on.']) {
      expect(next).toContain(words);
    }
  });

  test('an empty summary is no item, or an error, so that the client keeps the conversation', async () => {
    upstreams[protocol].reset({ words: [' '] });
    const stream = await openai.responses.create({ ...compaction(protocol), stream: true });
    let output: unknown;
    for await (const event of stream) {
      output = event.type === 'response.completed' ? event.response.output : output;
    }
    expect(output).toEqual([]);
    await expect(openai.responses.create(compaction(protocol))).rejects.toThrow('502');
    await expect(openai.responses.compact({ model: protocol, input: 'x' })).rejects.toThrow('502');
  });
});

test("another server's compaction is left out, and named", async () => {
  const item = { type: 'compaction' as const, encrypted_content: 'gAAAA-sealed-elsewhere' };
  const input: ResponseInput = [item, { role: 'user', content: 'Go on.' }];
  const { response } = await openai.responses.create({ model: 'openai', input }).withResponse();
  expect(response.headers.get('x-ignored-parameters')).toBe('input[].encrypted_content');
  expect(upstreams.openai.last.body.messages).toEqual([{ role: 'user', content: 'Go on.' }]);
});

test('a trigger that is not the last item is rejected', async () => {
  const input: ResponseInput = [{ type: 'compaction_trigger' }, { role: 'user', content: 'Go on.' }];
  await expect(openai.responses.create({ model: 'openai', input })).rejects.toThrow(
    'input: compaction_trigger must be the last item',
  );
});
