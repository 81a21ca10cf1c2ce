import { stringify } from 'yaml';
import { formatUsd } from '../../src/lib/money.ts';
import { ReplayUpstream } from '../factories/upstream-replay.ts';
import { Gateway, model } from '../invocation/gateway.ts';
import { receivedText } from '../invocation/received-text.ts';
import { type Expected, packetsOf, type Row, readRows } from './row.ts';

/** Every peculiarity of a provider that we have met, played to the product and read by clients of both dialects. */

let upstream: ReplayUpstream;
let gateway: Gateway;
const rows = readRows();

beforeAll(async () => {
  upstream = await new ReplayUpstream().start();
  const ids = rows.map((_, index) => `row-${index}`);
  gateway = await Gateway.start({
    providers: (['openai', 'anthropic'] as const).flatMap((protocol) =>
      ids.map((id) => ({ id: `${protocol}-${id}`, protocol, base_url: upstream.url })),
    ),
    models: ids.map((id, index) => model(id, [{ provider: `${rows[index]!.protocol}-${id}`, model: id }])),
  });
});

afterAll(async () => {
  await gateway?.close();
  await upstream?.close();
});

const PATHS = { chat: '/api/v1/chat/completions', messages: '/v1/messages' };

interface Observed {
  readonly told: Expected;
  readonly shown: number[] | undefined;
}

async function ask(id: string, dialect: keyof typeof PATHS, stream: boolean): Promise<Observed> {
  const thinking = dialect === 'messages' ? { thinking: { type: 'enabled', budget_tokens: 1_024 } } : {};
  const response = await fetch(gateway.url + PATHS[dialect], {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      model: id,
      max_tokens: 10_000,
      stream,
      ...thinking,
      messages: [{ role: 'user', content: 'hello '.repeat(12) }],
    }),
  });
  const text = await receivedText(response);
  if (text.startsWith('{')) {
    return dialect === 'chat' ? observeCompletion(JSON.parse(text)) : observeMessage(JSON.parse(text));
  }
  const data = [...text.matchAll(/^data: (\{.*)$/gm)].map(([, one]) => JSON.parse(one!));
  return dialect === 'chat' ? observeChunks(data) : observeEvents(data);
}

// biome-ignore lint/suspicious/noExplicitAny: answers of many shapes
type Json = any;

function observeCompletion(body: Json): Observed {
  if (body.error) {
    return { told: { error: body.error.code }, shown: undefined };
  }
  const [{ message, finish_reason }] = body.choices;
  const { role: _, refusal, ...delta } = message;
  const said = refusal === null ? delta : { ...delta, refusal };
  return { told: { deltas: [said], ...besideOf([body]), finish: finish_reason }, shown: usageOf(body.usage) };
}

function observeMessage(body: Json): Observed {
  return body.error
    ? { told: { error: body.error.code }, shown: undefined }
    : { told: { events: body.content, finish: body.stop_reason }, shown: usageOf(body.usage) };
}

function observeChunks(chunks: Json[]): Observed {
  const failure = chunks.find((chunk) => chunk.error);
  const choices = chunks.flatMap((chunk) => chunk.choices);
  // the shape that every chunk of ours has
  for (const choice of choices) {
    expect(choice).toMatchObject({ index: 0, delta: expect.any(Object) });
  }
  expect(choices.slice(1).filter((choice) => 'role' in choice.delta)).toEqual([]);
  expect(choices.slice(0, -1).filter((choice) => choice.finish_reason !== null)).toEqual([]);
  const deltas = choices.map((choice) => choice.delta).filter((delta) => hasMembers(delta));
  const [opening, ...rest] = deltas;
  expect(opening).toEqual(
    choices.length > 0 && deltas.length > 0 ? { role: 'assistant', content: '' } : undefined,
  );
  return failure
    ? { told: { deltas: rest, error: failure.error.code }, shown: undefined }
    : {
        told: { deltas: rest, ...besideOf(chunks), finish: choices.at(-1).finish_reason },
        shown: usageOf(chunks.findLast((chunk) => chunk.usage)?.usage),
      };
}

const OURS = [
  'id',
  'object',
  'created',
  'model',
  'choices',
  'usage',
  'index',
  'delta',
  'message',
  'finish_reason',
];

/** What stands beside the deltas, in any chunk. */
function besideOf(chunks: Json[]): { beside?: Json } {
  const all = Object.assign({}, ...chunks, ...chunks.flatMap((chunk) => chunk.choices));
  const others = Object.entries(all).filter(([name, value]) => !OURS.includes(name) && value !== null);
  return others.length === 0 ? {} : { beside: Object.fromEntries(others) };
}

const MARKS = new Set(['message_start', 'message_stop', 'ping', 'error']);

function observeEvents(events: Json[]): Observed {
  expect(events[0].type).toBe('message_start');
  const failure = events.find((event) => event.type === 'error');
  const closing = events.find((event) => event.type === 'message_delta');
  const blocks = events.filter((event) => !MARKS.has(event.type) && event !== closing);
  const brief = blocks.map(({ type, index, content_block, delta }) =>
    content_block
      ? { open: index, ...content_block }
      : delta
        ? { in: index, ...delta }
        : { close: index, ...(type === 'content_block_stop' ? {} : { type }) },
  );
  return failure
    ? { told: { events: brief, error: failure.error.code }, shown: undefined }
    : { told: { events: brief, finish: closing.delta.stop_reason }, shown: usageOf(closing.usage) };
}

function hasMembers(value: object): boolean {
  return Object.keys(value).length > 0;
}

function usageOf(usage: Json): number[] {
  const names = [
    'input_tokens',
    'output_tokens',
    'cache_read_tokens',
    'cache_write_tokens',
    'reasoning_tokens',
  ];
  return usage.total_tokens === undefined ? [] : names.map((name) => usage[name]);
}

/** Ids that were made up differ from run to run. */
function withoutMadeIds<T>(value: T): T {
  return JSON.parse(JSON.stringify(value).replace(/"(call|toolu)_[0-9a-f]{24}/g, '"$1_*'));
}

async function observe(row: Row, id: string, atOnce: boolean): Promise<Omit<Row, 'name' | 'protocol'>> {
  const { status, type = row.json === undefined ? 'text/event-stream' : 'application/json' } = row;
  const packets = packetsOf(row);
  const joined = [Buffer.concat(packets.map((packet) => Buffer.from(packet as string)))];
  // what a failure lets through depends on what had arrived before it
  const pauseMs = row.chat?.error ? 40 : 1;
  upstream.play(id, { type, packets: atOnce ? joined : packets, pauseMs, ...(status ? { status } : {}) });
  const stream = row.json === undefined || row.name.startsWith('stream: ');
  const chat = await ask(id, 'chat', stream);
  const paid = paidFor(chat.shown);
  const messages = await ask(id, 'messages', stream);
  if (messages.told.error === chat.told.error) {
    expect(paidFor(undefined)).toEqual({ ...paid, usage: paid.usage });
  }
  return withoutMadeIds({ chat: chat.told, messages: messages.told, ...paid });
}

/** What the last call cost; usage shown is usage charged. */
function paidFor(shown: number[] | undefined) {
  const { usage, usageSource, charge } = gateway.ledger.last;
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens } = usage;
  const charged = [inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens];
  expect(shown ?? charged).toEqual(charged);
  const counted = usageSource === 'counted' ? { counted: true } : {};
  return { usage: charged, ...counted, charge: formatUsd(charge.amount) };
}

test.each(rows.map((row, index) => [row.name, row, `row-${index}`] as const))('%s', async (_, row, id) => {
  const observed = await observe(row, id, false);
  const { chat, messages, usage, counted, charge } = row;
  if (!chat) {
    throw new Error(`nothing is expected yet; if this is right, add it to the row:\n${stringify(observed)}`);
  }
  const expected = { chat, messages, usage, ...(counted ? { counted } : {}), charge };
  expect(observed).toEqual(expected);
  // how bytes are cut into packets changes nothing
  if (row.events && !chat.error && !messages?.error) {
    expect(await observe(row, id, true)).toEqual(expected);
  }
});
