import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** Ways an upstream can misbehave. */
export type Fault =
  | 'rate_limit'
  | 'server_error'
  | 'overloaded'
  | 'unauthorized'
  | 'bad_request'
  | 'too_long'
  | 'content_refused'
  | 'garbled'
  | 'hang_before_headers'
  | 'hang_after_headers'
  | 'hang_mid_stream'
  | 'reset_before_headers'
  | 'reset_mid_stream'
  | 'garbage'
  | 'garbage_mid_stream'
  | 'error_in_200'
  | 'error_mid_stream'
  | 'no_usage'
  | 'absurd_usage'
  | 'negative_usage'
  | 'slow_bytes'
  | 'cut_stream'
  | 'empty'
  | 'no_message'
  | 'ignores_cap';

/** What the upstream answers to any call. Set it before the call. */
export interface Script {
  /** Words; each is one token of the answer. */
  words: readonly string[];
  /** Pause between tokens of a stream, in ms. */
  tokenDelayMs: number;
  fault: Fault | undefined;
  /** Number of calls that meet the fault, after which it is gone. */
  faultCalls: number;
  /** Which calls meet the fault. */
  faultOf: (request: UpstreamRequest) => boolean;
  retryAfter: string | undefined;
  reasoning: string;
  refusal: boolean;
  cacheRead: number;
  cacheWrite: number;
  /** Resolves when a frame, or a whole JSON answer, may be sent. */
  gate: (request: UpstreamRequest, frame: string) => Promise<void>;
  /** The tool to call and its arguments. By default it calls the first tool, for the weather of Paris. */
  call: { readonly name: string; readonly arguments: object } | undefined;
  /** Returns changes of the script for one request. */
  adapt: (request: UpstreamRequest) => Partial<Script>;
}

export interface UpstreamRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of many shapes
  readonly body: any;
  /** Set when the connection closed before the answer was complete, in Unix ms. */
  abortedAt: number | undefined;
  finished: boolean;
}

export const ORDINARY: Script = {
  words: 'The quick brown fox jumps over the lazy dog'
    .split(' ')
    .map((word, index) => (index === 0 ? word : ` ${word}`)),
  tokenDelayMs: 0,
  fault: undefined,
  faultCalls: Number.POSITIVE_INFINITY,
  faultOf: () => true,
  retryAfter: undefined,
  reasoning: '',
  refusal: false,
  cacheRead: 0,
  cacheWrite: 0,
  gate: async () => undefined,
  call: undefined,
  adapt: () => ({}),
};

/** How one protocol expresses the script. */
export interface UpstreamProtocol {
  answer(request: UpstreamRequest, script: Script): object;
  /** Returns the frames before the tokens, one frame per token, and the frames after them. */
  frames(request: UpstreamRequest, script: Script): string[];
  errorBody(fault: Fault): object;
  /** Returns why the protocol's owner would reject the request; undefined when it would not. */
  refusal?(request: UpstreamRequest): string | undefined;
  errorFrame(): string;
}

const STATUSES: Partial<Record<Fault, number>> = {
  rate_limit: 429,
  server_error: 500,
  overloaded: 503,
  unauthorized: 401,
  bad_request: 400,
  too_long: 400,
  content_refused: 403,
  garbled: 400,
};

/** A contract server: speaks one protocol, follows a script, and records requests. */
export class UpstreamServer {
  readonly requests: UpstreamRequest[] = [];
  /** Why it has rejected requests. The gateway may have sent them again, as their refusal asked for. */
  readonly refusals: string[] = [];
  script: Script = { ...ORDINARY };
  /** Status of its answer to a request for its models. */
  probeStatus = 200;
  readonly #protocol: UpstreamProtocol;
  readonly #server: Server;

  constructor(protocol: UpstreamProtocol) {
    this.#protocol = protocol;
    this.#server = createServer((request, response) => {
      this.#handle(request, response).catch(() => response.destroy());
    });
  }

  async start(): Promise<this> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  get last(): UpstreamRequest {
    return this.requests.at(-1)!;
  }

  /** Forgets requests and sets the script of the next answers. */
  reset(script: Partial<Script> = {}): void {
    this.requests.length = 0;
    this.refusals.length = 0;
    this.script = { ...ORDINARY, ...script };
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #handle(message: IncomingMessage, response: ServerResponse): Promise<void> {
    if (message.method === 'GET') {
      response.writeHead(this.probeStatus, { 'content-type': 'application/json' }).end('{"data":[]}');
      return;
    }
    const chunks: Buffer[] = [];
    for await (const chunk of message) {
      chunks.push(chunk as Buffer);
    }
    const request: UpstreamRequest = {
      path: message.url ?? '',
      headers: message.headers,
      body: JSON.parse(Buffer.concat(chunks).toString()),
      abortedAt: undefined,
      finished: false,
    };
    this.requests.push(request);
    response.on('finish', () => {
      request.finished = true;
    });
    response.on('close', () => {
      if (!response.writableFinished) {
        request.abortedAt = Date.now();
      }
    });
    const script = { ...this.script, ...this.script.adapt(request) };
    if (this.script.faultCalls > 0 && script.faultOf(request)) {
      this.script.faultCalls -= 1;
    } else {
      script.fault = undefined;
    }
    await this.#respond(request, response, script);
  }

  async #respond(request: UpstreamRequest, response: ServerResponse, script: Script): Promise<void> {
    const { fault } = script;
    if (fault === 'hang_before_headers') {
      return;
    }
    if (fault === 'reset_before_headers') {
      response.socket?.resetAndDestroy();
      return;
    }
    const refused = this.#protocol.refusal?.(request);
    if (refused !== undefined) {
      this.refusals.push(refused);
    }
    if (refused !== undefined) {
      response.writeHead(400, { 'content-type': 'application/json' });
      response.end(
        JSON.stringify({ type: 'error', error: { type: 'invalid_request_error', message: refused } }),
      );
      return;
    }
    const status = fault && STATUSES[fault];
    if (fault && (status || fault === 'error_in_200')) {
      const retryAfter = script.retryAfter === undefined ? {} : { 'retry-after': script.retryAfter };
      response.writeHead(status ?? 200, { 'content-type': 'application/json', ...retryAfter });
      response.end(JSON.stringify(this.#protocol.errorBody(fault)));
      return;
    }
    await (request.body.stream
      ? this.#stream(request, response, script)
      : this.#json(request, response, script));
  }

  async #json(request: UpstreamRequest, response: ServerResponse, script: Script): Promise<void> {
    const delay = script.tokenDelayMs * script.words.length;
    if (delay > 0) {
      await sleep(delay);
    }
    const text = JSON.stringify(this.#protocol.answer(request, script));
    await script.gate(request, text);
    response.writeHead(200, { 'content-type': 'application/json' });
    switch (script.fault) {
      case 'garbage':
        response.end('<html>not json');
        return;
      case 'hang_after_headers':
        response.flushHeaders();
        return;
      case 'cut_stream':
        response.write(text.slice(0, text.length / 2));
        response.end();
        return;
      case 'reset_mid_stream':
        response.write(text.slice(0, text.length / 2));
        setTimeout(() => response.socket?.resetAndDestroy(), 5);
        return;
      default:
        response.end(text);
    }
  }

  async #stream(request: UpstreamRequest, response: ServerResponse, script: Script): Promise<void> {
    const { fault } = script;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.flushHeaders();
    if (fault === 'hang_after_headers') {
      return;
    }
    if (fault === 'garbage') {
      response.end('data: {not json\n\n');
      return;
    }
    const frames = this.#protocol.frames(request, script);
    const half = Math.ceil(frames.length / 2);
    for (const [index, frame] of frames.entries()) {
      if (index === half && breaks(fault)) {
        this.#break(fault, response);
        return;
      }
      await script.gate(request, frame);
      if (response.destroyed) {
        return;
      }
      await writeFrame(response, frame, fault === 'slow_bytes');
      if (script.tokenDelayMs > 0) {
        await sleep(script.tokenDelayMs);
      }
    }
    response.end();
  }

  #break(fault: Fault, response: ServerResponse): void {
    switch (fault) {
      case 'reset_mid_stream':
        setTimeout(() => response.socket?.resetAndDestroy(), 5);
        break;
      case 'garbage_mid_stream':
        response.end('data: {"choices": [oops\n\n');
        break;
      case 'error_mid_stream':
        response.end(this.#protocol.errorFrame());
        break;
      case 'cut_stream':
        response.end();
        break;
      default:
    }
  }
}

function breaks(fault: Fault | undefined): fault is Fault {
  return (
    fault === 'hang_mid_stream' ||
    fault === 'reset_mid_stream' ||
    fault === 'garbage_mid_stream' ||
    fault === 'error_mid_stream' ||
    fault === 'cut_stream'
  );
}

async function writeFrame(response: ServerResponse, frame: string, byByte: boolean): Promise<void> {
  if (!byByte) {
    response.write(frame);
    return;
  }
  for (const byte of Buffer.from(frame)) {
    response.write(Buffer.of(byte));
    await sleep(1);
  }
}
