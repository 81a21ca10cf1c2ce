import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { countTokens } from '../../src/providers/token-counter.ts';

/** Most tokens of one item that this provider fetches, by kind; the gateway's catalog declares the same. */
export const ITEM_TOKENS = { image: 1_500, file: 4_000, video: 6_000, audio: 2_000 };

/** What the provider billed for one request, in tokens. */
export interface Bill {
  readonly input: number;
  output: number;
}

/**
 * A provider that writes out and counts everything it is sent: every text, name, id and template argument, every item by
 * reference. What its context does not hold it refuses; the name of its model is the length of it, in tokens. It thinks before it speaks, hides that, goes on when its reader leaves, and bills what it did.
 */
export class HonestProvider {
  readonly bills = new Map<string, Bill>();
  /** What its template makes of an input, in tokens. */
  template = (tokens: number) => tokens;
  readonly #server: Server;
  requests = 0;

  constructor() {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => void this.#answer(JSON.parse(Buffer.concat(chunks).toString()), response));
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
  async #answer(body: any, response: ServerResponse): Promise<void> {
    this.requests += 1;
    const cap = body.n_predict ?? body.max_tokens;
    const thought = Math.min(Math.floor(cap / 2), 40);
    const words = (body.stop?.length ?? 0) > 0 ? 0 : Math.min(cap - thought, 12);
    const bill: Bill = { input: this.template(inputTokensOf(body)), output: thought + words };
    if (bill.input + cap > Number(body.model)) {
      response.writeHead(400, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: { code: 'context_length_exceeded' } }));
      return;
    }
    this.bills.set(body.user, bill);
    const usage = {
      prompt_tokens: bill.input,
      completion_tokens: bill.output,
      total_tokens: bill.input + bill.output,
      completion_tokens_details: { reasoning_tokens: thought },
    };
    const legacy = body.functions !== undefined;
    const text = Array.from({ length: words }, () => ' word');
    if (!body.stream) {
      const message = legacy
        ? { role: 'assistant', content: null, function_call: { name: 'f', arguments: text.join('') } }
        : { role: 'assistant', content: text.join('') };
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }], usage }));
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const frame = (data: object) => response.write(`data: ${JSON.stringify(data)}\n\n`);
    for (const content of ['', ...text]) {
      const delta = legacy
        ? { function_call: { ...(content === '' && { name: 'f' }), arguments: content } }
        : { content };
      frame({ choices: [{ index: 0, delta, finish_reason: null }] });
      await new Promise((resolve) => setImmediate(resolve));
    }
    frame({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
    frame({ choices: [], usage });
    response.end('data: [DONE]\n\n');
  }
}

/** Names of the protocol, which a template turns into a few marks of its own. */
const STRUCTURE = new Set(
  'messages role content type text name model stream stream_options include_usage max_tokens tools functions user stop'.split(
    ' ',
  ),
);

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
      if (!(STRUCTURE.has(name) && value.length < 12 && name !== 'content' && name !== 'text')) {
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
      for (const [key, member] of Object.entries(value)) {
        if (!STRUCTURE.has(key)) {
          texts.push(key);
        }
        items += itemTokens(key, member);
        walk(member, key);
      }
    }
  };
  walk(body, '');
  return countTokens(texts.join(' ')) + frames * 3 + items;
}

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
