import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { countTokens } from '../../src/providers/token-counter.ts';

/** Maximum tokens of one item that this provider fetches, by kind; the gateway's catalog declares the same. */
export const ITEM_TOKENS = { image: 1_500, file: 4_000, video: 6_000, audio: 2_000 };

/** What the provider billed for one request, in tokens. */
export interface Bill {
  readonly input: number;
  output: number;
}

/**
 * A provider that writes out and counts everything it receives, in all protocols: every text, name, id and template argument, and every
 * item by reference. It rejects input that does not fit its context; the name of its model is the context length in tokens. It thinks
 * before it answers, hides that, continues when its reader leaves, and bills what it did.
 */
export class HonestProvider {
  /** By the user named in the request. */
  readonly bills = new Map<string, Bill>();
  /** The size of an input after its template, in tokens. */
  template = (tokens: number) => tokens;
  readonly #server: Server;
  requests = 0;

  constructor() {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const body = JSON.parse(Buffer.concat(chunks).toString());
        void this.#answer(body, request, response);
      });
    });
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  // biome-ignore lint/suspicious/noExplicitAny: bodies of every shape
  async #answer(body: any, request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.requests += 1;
    const [, path = ''] = /\/(\w+)$/.exec(request.url ?? '') ?? [];
    const protocol = PROTOCOLS[path] ?? CHAT;
    const cap = body.n_predict ?? body.max_tokens ?? body.max_output_tokens;
    const thought = Math.min(Math.floor(cap / 2), 40);
    const stops = body.stop ?? body.stop_sequences ?? [];
    const words = stops.length > 0 ? 0 : Math.min(cap - thought, 12);
    const bill: Bill = { input: this.template(inputTokensOf(body)), output: thought + words };
    if (bill.input + cap > Number(body.model)) {
      response.writeHead(400, { 'content-type': 'application/json' });
      response.end(JSON.stringify(protocol.tooLong));
      return;
    }
    this.bills.set(body.user ?? body.metadata?.user_id, bill);
    const said: Said = { words: Array.from({ length: words }, () => ' word'), thought, bill, body };
    if (!body.stream) {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(protocol.answer(said)));
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const frame of protocol.frames(said)) {
      response.write(frame);
      await new Promise((resolve) => setImmediate(resolve));
    }
    response.end();
  }
}

interface Said {
  readonly words: readonly string[];
  /** Hidden tokens. */
  readonly thought: number;
  readonly bill: Bill;
  // biome-ignore lint/suspicious/noExplicitAny: bodies of every shape
  readonly body: any;
}

interface Protocol {
  readonly tooLong: object;
  answer(said: Said): object;
  frames(said: Said): string[];
}

const CHAT: Protocol = {
  tooLong: { error: { code: 'context_length_exceeded' } },
  answer({ words, thought, bill, body }) {
    const text = words.join('');
    const message = body.functions
      ? { role: 'assistant', content: null, function_call: { name: 'f', arguments: text } }
      : { role: 'assistant', content: text };
    return { choices: [{ index: 0, message, finish_reason: 'stop' }], usage: chatUsage(bill, thought) };
  },
  frames({ words, thought, bill, body }) {
    const data = (value: object) => `data: ${JSON.stringify(value)}\n\n`;
    const frame = (delta: object, finish: string | null = null) =>
      data({ choices: [{ index: 0, delta, finish_reason: finish }] });
    const deltas = ['', ...words].map((content) =>
      body.functions
        ? { function_call: { ...(content === '' && { name: 'f' }), arguments: content } }
        : { content },
    );
    return [
      ...deltas.map((delta) => frame(delta)),
      frame({}, 'stop'),
      data({ choices: [], usage: chatUsage(bill, thought) }),
      'data: [DONE]\n\n',
    ];
  },
};

function chatUsage({ input, output }: Bill, thought: number): object {
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    completion_tokens_details: { reasoning_tokens: thought },
  };
}

const MESSAGES: Protocol = {
  tooLong: {
    type: 'error',
    error: { type: 'invalid_request_error', message: 'prompt is too long: 9 tokens > 8 maximum' },
  },
  answer({ words, bill, body }) {
    const content = words.length === 0 ? [] : [{ type: 'text', text: words.join('') }];
    return {
      type: 'message',
      role: 'assistant',
      content,
      ...messagesEnd(body),
      usage: { ...messagesInput(bill, body), output_tokens: bill.output },
    };
  },
  frames({ words, bill, body }) {
    const event = (value: { type: string; [member: string]: unknown }) =>
      `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`;
    const usage = { ...messagesInput(bill, body), output_tokens: 1 };
    const text = (delta: string) => ({ type: 'text_delta', text: delta });
    return [
      event({ type: 'message_start', message: { type: 'message', role: 'assistant', content: [], usage } }),
      event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
      ...words.map((word) => event({ type: 'content_block_delta', index: 0, delta: text(word) })),
      event({ type: 'content_block_stop', index: 0 }),
      event({ type: 'message_delta', delta: messagesEnd(body), usage: { output_tokens: bill.output } }),
      event({ type: 'message_stop' }),
    ];
  },
};

const RESPONSES: Protocol = {
  tooLong: { error: { code: 'context_length_exceeded' } },
  answer: (said) => wholeResponse(said),
  frames(said) {
    const event = (value: { type: string; [member: string]: unknown }) =>
      `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`;
    return [
      event({ type: 'response.created', response: {} }),
      ...said.words.map((delta) => event({ type: 'response.output_text.delta', output_index: 0, delta })),
      event({ type: 'response.completed', response: wholeResponse(said) }),
    ];
  },
};

function wholeResponse({ words, thought, bill }: Said): object {
  const content = [{ type: 'output_text', text: words.join('') }];
  return {
    status: 'completed',
    output: words.length === 0 ? [] : [{ type: 'message', role: 'assistant', content }],
    usage: {
      input_tokens: bill.input,
      output_tokens: bill.output,
      output_tokens_details: { reasoning_tokens: thought },
      total_tokens: bill.input + bill.output,
    },
  };
}

/** By the last segment of their paths; any other path is chat. */
const PROTOCOLS: Readonly<Record<string, Protocol>> = { messages: MESSAGES, responses: RESPONSES };

/** A stop sequence that matches at once answers the question without a word. */
function messagesEnd({ stop_sequences: stops = [] }: Said['body']): object {
  return stops.length > 0
    ? { stop_reason: 'stop_sequence', stop_sequence: stops[0] }
    : { stop_reason: 'end_turn', stop_sequence: null };
}

/** Reads half of a marked input from the cache and writes half of the rest to it. */
function messagesInput({ input }: Bill, body: unknown): object {
  const marked = JSON.stringify(body).includes('cache_control');
  const read = marked ? Math.floor(input / 2) : 0;
  const written = Math.floor(read / 2);
  return {
    input_tokens: input - read - written,
    cache_read_input_tokens: read,
    cache_creation_input_tokens: written,
  };
}

/** Names used by the protocols, which a template replaces with a few marks of its own. */
const STRUCTURE = new Set(
  [
    'messages role content type text name model stream stream_options include_usage max_tokens tools functions user stop',
    'system source media_type data title context input tool_use_id is_error input_schema description',
    'stop_sequences metadata user_id thinking signature budget_tokens cache_control citations',
    'instructions output arguments call_id format detail store max_output_tokens parallel_tool_calls strict',
  ]
    .join(' ')
    .split(' '),
);
/** Members whose text is always read. */
const TEXTS = new Set([
  'content',
  'text',
  'data',
  'title',
  'context',
  'input',
  'description',
  'thinking',
  'name',
  'instructions',
  'output',
  'arguments',
]);

// biome-ignore lint/suspicious/noExplicitAny: bodies of every shape
function inputTokensOf(body: any): number {
  const texts: string[] = [];
  let items = 0;
  let frames = 0;
  const walk = (value: unknown, name: string): void => {
    if (typeof value === 'string') {
      if (/^data:[^,]{0,128};base64,/.test(value.slice(0, 256))) {
        return;
      }
      if (!(STRUCTURE.has(name) && value.length < 12 && !TEXTS.has(name))) {
        texts.push(value);
      }
      return;
    }
    if (Array.isArray(value)) {
      for (const item of value) {
        walk(item, name);
      }
      return;
    }
    if (typeof value === 'object' && value !== null) {
      frames += 1;
      items += blockTokens(value as Readonly<Record<string, unknown>>);
      for (const [key, member] of Object.entries(value)) {
        if (!STRUCTURE.has(key)) {
          texts.push(key);
        }
        items += itemTokens(key, member);
        if (!(key === 'data' && 'type' in value && value.type === 'base64')) {
          walk(member, key);
        }
      }
    }
  };
  walk(body, '');
  return tokensOf(texts.join(' ')) + frames * 3 + items;
}

/** Counts with a vocabulary that has one token per digit and line end, like Llama 2's, and otherwise merges like ours. */
function tokensOf(text: string): number {
  const spelled = text.match(/\d{2,}|[\n\r\t]{2,}/g) ?? [];
  return spelled.reduce((sum, run) => sum + run.length - countTokens(run), countTokens(text));
}

/** Returns the tokens of what a chat part fetches, by the name of its member. */
function itemTokens(name: string, value: unknown): number {
  if (typeof value !== 'object' || value === null) {
    return 0;
  }
  switch (name) {
    case 'image_url':
      return ITEM_TOKENS.image;
    case 'file':
      return ITEM_TOKENS.file;
    case 'video_url':
      return ITEM_TOKENS.video;
    case 'input_audio':
      return ITEM_TOKENS.audio;
    default:
      return 0;
  }
}

/** Returns the tokens of what a block of messages or a part of Responses fetches. */
function blockTokens({ type, source }: Readonly<Record<string, unknown>>): number {
  if (type === 'input_image' || type === 'input_file') {
    return type === 'input_image' ? ITEM_TOKENS.image : ITEM_TOKENS.file;
  }
  if (typeof source !== 'object' || source === null || !('type' in source)) {
    return 0;
  }
  if (source.type === 'text' || source.type === 'content') {
    return 0;
  }
  return type === 'image' ? ITEM_TOKENS.image : ITEM_TOKENS.file;
}
