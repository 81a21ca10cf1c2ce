import assert from 'node:assert/strict';
import { formatUsd } from '../../src/lib/money.ts';
import { ReplayUpstream } from '../factories/upstream-replay.ts';
import { Gateway, model } from '../invocation/gateway.ts';
import { receivedText } from '../invocation/received-text.ts';
import { type Expected, packetsOf, type Row } from './row.ts';

const PATHS = { chat: '/api/v1/chat/completions', messages: '/v1/messages' };

/** Maximum output tokens of a call, unless its row says otherwise. */
const CAP = 10_000;
/** The minimum thinking budget. */
const THINKING_BUDGET = 1_024;
/** Large enough that the limits of the model cut no row. */
const MODEL = { contextLength: 4_000_000, maxOutputTokens: 2_000_000 };

/** What clients of both dialects got from a row's answer, and what it cost. */
export type Outcome = Pick<Row, 'chat' | 'messages' | 'usage' | 'counted' | 'charge'>;

/** Plays rows to a gateway with one provider for each, and reads them as clients of both dialects. */
export class RowPlayer {
  readonly #upstream: ReplayUpstream;
  readonly #gateway: Gateway;
  readonly #ids: ReadonlyMap<Row, string>;

  private constructor(upstream: ReplayUpstream, gateway: Gateway, ids: ReadonlyMap<Row, string>) {
    this.#upstream = upstream;
    this.#gateway = gateway;
    this.#ids = ids;
  }

  static async start(rows: readonly Row[]): Promise<RowPlayer> {
    const upstream = await new ReplayUpstream().start();
    const ids = new Map(rows.map((row, index) => [row, `row-${index}`]));
    const gateway = await Gateway.start({
      providers: rows.map((row) => ({ id: ids.get(row), protocol: row.protocol, base_url: upstream.url })),
      models: rows.map((row) => {
        const id = ids.get(row)!;
        return model(id, [{ provider: id, model: id }], MODEL);
      }),
    });
    return new RowPlayer(upstream, gateway, ids);
  }

  async close(): Promise<void> {
    await this.#gateway.close();
    await this.#upstream.close();
  }

  /** Plays a row, its packets one by one or all at once. Throws AssertionError for an answer whose form no row may have. */
  async play(row: Row, atOnce: boolean): Promise<Outcome> {
    const { status, type = row.json === undefined ? 'text/event-stream' : 'application/json' } = row;
    const packets = packetsOf(row);
    // what a failure lets through depends on what arrived before it
    const pauseMs = row.packet_bytes ? 0 : row.chat?.error ? 40 : 1;
    this.#upstream.play(this.#ids.get(row)!, {
      type,
      packets: atOnce ? [Buffer.concat(packets)] : packets,
      pauseMs,
      ...(status ? { status } : {}),
    });
    const chat = await this.#ask(row, 'chat');
    const paid = this.#paidFor(chat.shown);
    const messages = await this.#ask(row, 'messages');
    const paidAgain = this.#paidFor(messages.shown);
    if (messages.told.error === chat.told.error) {
      assert.deepEqual(paidAgain, paid);
    }
    return inBrief({ chat: chat.told, messages: messages.told, ...paid });
  }

  async #ask(row: Row, dialect: keyof typeof PATHS): Promise<Observed> {
    const cap = row.max_tokens ?? CAP;
    const thinks = dialect === 'messages' && cap > THINKING_BUDGET;
    const thinking = thinks ? { thinking: { type: 'enabled', budget_tokens: THINKING_BUDGET } } : {};
    const response = await fetch(this.#gateway.url + PATHS[dialect], {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        model: this.#ids.get(row),
        max_tokens: cap,
        stream: row.json === undefined || row.name.startsWith('stream: '),
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

  /** Returns the cost of the last call. The usage shown must equal the usage charged. */
  #paidFor(shown: number[] | undefined) {
    const { usage, usageSource, charge } = this.#gateway.ledger.last;
    const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens } = usage;
    const charged = [inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens];
    assert.deepEqual(shown ?? charged, charged);
    const counted = usageSource === 'counted' ? { counted: true } : {};
    return { usage: charged, ...counted, charge: formatUsd(charge.amount) };
  }
}

/** Returns the expected outcome of a row, or undefined when it has none yet. */
export function expectedOf({ chat, messages, usage, counted, charge }: Row): Outcome | undefined {
  return chat && compacted({ chat, messages, usage, counted, charge });
}

function compacted(outcome: Outcome): Outcome {
  return JSON.parse(JSON.stringify(outcome));
}

/** Longer texts are shortened to both ends and their length, in UTF-16 units. */
const TEXT_LENGTH_MAX = 2_000;

/** Shortens an outcome and replaces generated ids, which differ from run to run. */
function inBrief(outcome: Outcome): Outcome {
  const text = JSON.stringify(outcome, (_, value) =>
    typeof value === 'string' && value.length > TEXT_LENGTH_MAX
      ? `${value.slice(0, 16)} … ${value.slice(-16)} (${value.length})`
      : value,
  );
  const plain = text
    .replace(/"(call|toolu)_[0-9a-f]{24}/g, '"$1_*')
    .replace(/"[0-9a-f]{12}\.gAAAA/g, '"*.gAAAA');
  return JSON.parse(plain);
}

interface Observed {
  readonly told: Expected;
  readonly shown: number[] | undefined;
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
    : {
        told: { events: body.content, ...besideOf([body]), finish: body.stop_reason },
        shown: usageOf(body.usage),
      };
}

function observeChunks(chunks: Json[]): Observed {
  const failure = chunks.find((chunk) => chunk.error);
  const choices = chunks.flatMap((chunk) => chunk.choices);
  // the form that every chunk of ours has
  for (const choice of choices) {
    assert.equal(choice.index, 0);
    assert.equal(typeof choice.delta, 'object');
  }
  assert.ok(choices.slice(1).every((choice) => !('role' in choice.delta)));
  assert.ok(choices.slice(0, -1).every((choice) => choice.finish_reason === null));
  const deltas = choices.map((choice) => choice.delta).filter((delta) => hasMembers(delta));
  const [opening, ...rest] = deltas;
  assert.deepEqual(opening, deltas.length > 0 ? { role: 'assistant', content: '' } : undefined);
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
  'type',
  'role',
  'content',
  'stop_reason',
];

/** Returns the extra fields in any of these deltas and events. */
function besideOf(pieces: Json[]): { beside?: Json } {
  const all = Object.assign({}, ...pieces, ...pieces.flatMap(({ choices, delta }) => choices ?? delta ?? []));
  const others = Object.entries(all).filter(([name, value]) => !OURS.includes(name) && value !== null);
  return others.length === 0 ? {} : { beside: Object.fromEntries(others) };
}

const MARKS = new Set(['message_start', 'message_stop', 'ping', 'error']);

function observeEvents(events: Json[]): Observed {
  assert.equal(events[0].type, 'message_start');
  const opening = events[0].message;
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
    : {
        told: { events: brief, ...besideOf([opening, closing]), finish: closing.delta.stop_reason },
        shown: usageOf(closing.usage),
      };
}

function hasMembers(value: object): boolean {
  return Object.keys(value).length > 0;
}

/** Returns the usage counts of the interface. `input_tokens` of a message excludes cached tokens, `total_tokens` includes them. */
function usageOf(usage: Json): number[] {
  const { total_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens } = usage;
  return [
    total_tokens - output_tokens,
    output_tokens,
    cache_read_tokens,
    cache_write_tokens,
    reasoning_tokens,
  ];
}
