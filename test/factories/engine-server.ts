import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import sharp from 'sharp';

/** Ways an engine's server can misbehave. */
export type EngineFault =
  /** 429 with Retry-After, nothing accepted. */
  | 'rate_limit'
  /** 503 with Retry-After, nothing accepted. */
  | 'busy'
  /** The run begins, but the answer is 500. */
  | 'error_after_accepting'
  /** The run begins, but the answer breaks off in the body. */
  | 'reset_after_accepting'
  /** The run begins, but no answer comes. */
  | 'silent_after_accepting'
  | 'refuses_content'
  | 'refuses_key'
  | 'never_finishes'
  | 'runs_backwards'
  | 'fails'
  | 'polls_break'
  | 'garbage_polls'
  | 'forgets'
  | 'output_missing'
  | 'output_is_html'
  | 'output_too_large'
  | 'output_cut'
  | 'no_output';

export interface SeenRequest {
  readonly method: string;
  /** Path and query as received. */
  readonly target: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of many shapes
  readonly json: any;
}

export interface EngineReply {
  readonly status?: number;
  readonly json?: unknown;
  readonly bytes?: Buffer;
  readonly headers?: Record<string, string>;
  /** The connection breaks in the middle of the body. */
  readonly cut?: boolean;
  /** No answer is ever sent. */
  readonly silent?: boolean;
}

export interface ServerRun {
  readonly id: string;
  readonly body: SeenRequest;
  polls: number;
  canceled: boolean;
  failed: boolean;
}

/** Text in the errors of servers that must never reach a customer. */
export const UPSTREAM_SECRET = 'customer prompt sk-upstream-secret';
export const POLLS_UNTIL_DONE = 3;
const TOO_LARGE_BYTES = 34 * 1024 * 1024;
let tooLarge: string | undefined;

/** A contract server: speaks one engine's protocol, follows a fault switch, and records runs and requests. */
export abstract class EngineServer {
  readonly requests: SeenRequest[] = [];
  readonly runs = new Map<string, ServerRun>();
  fault: EngineFault | undefined;
  /** Number of requests that meet the fault, after which it is gone. */
  faultCalls = Number.POSITIVE_INFINITY;
  /** Which submits meet a rate limit. */
  isLimited: (seen: SeenRequest) => boolean = () => true;
  /** Changes each answer before it is sent. */
  change: ((reply: EngineReply) => EngineReply) | undefined;
  media = Buffer.alloc(0);
  /** Accepts connections and answers nothing, like a stopped process. */
  isFrozen = false;
  readonly #byKey = new Map<string, ServerRun>();
  readonly #server: Server;
  #port = 0;

  constructor() {
    this.#server = createServer((request, response) => {
      this.#handle(request, response).catch(() => response.destroy());
    });
    this.#server.on('upgrade', (request, socket) => this.upgrade(request, socket));
  }

  /** Returns the answer to a request; undefined for an unknown path. */
  protected abstract route(seen: SeenRequest): EngineReply | undefined;

  /** Checks the caller first. A returned reply rejects the request. */
  protected async refuse(_seen: SeenRequest): Promise<EngineReply | undefined> {
    return undefined;
  }

  protected upgrade(_request: IncomingMessage, socket: Duplex): void {
    socket.destroy();
  }

  async start(): Promise<this> {
    this.media = await sharp({ create: { width: 64, height: 64, channels: 3, background: '#357' } })
      .png()
      .toBuffer();
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return this;
  }

  /** Refuses connections, like a server that is restarting. With `loses` it also forgets its runs. */
  async goAway(loses: boolean): Promise<void> {
    this.#port = this.port;
    if (loses) {
      this.runs.clear();
    }
    await this.close();
  }

  /** Listens again on the same port. */
  async comeBack(): Promise<void> {
    this.#server.listen(this.#port, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Number of accepted submits: what a paid upstream would bill. */
  get accepted(): number {
    return this.runs.size;
  }

  /** The body of the last accepted submit. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of many shapes
  get submitted(): any {
    return [...this.runs.values()].at(-1)?.body.json;
  }

  /** Forgets everything and sets the next fault. */
  reset(fault?: EngineFault, faultCalls = Number.POSITIVE_INFINITY): void {
    this.requests.length = 0;
    this.runs.clear();
    this.#byKey.clear();
    this.fault = fault;
    this.faultCalls = faultCalls;
    this.isLimited = () => true;
    this.change = undefined;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** Whether this request meets the fault. Uses up one of {@link faultCalls}. */
  protected meets(...faults: EngineFault[]): boolean {
    if (this.fault === undefined || !faults.includes(this.fault) || this.faultCalls <= 0) {
      return false;
    }
    this.faultCalls -= 1;
    return true;
  }

  /** Begins a run and answers as the fault says, otherwise with `reply`. */
  protected accept(
    seen: SeenRequest,
    reply: (run: ServerRun) => EngineReply,
    id = `run-${this.runs.size + 1}`,
  ): EngineReply {
    if (this.isLimited(seen) && this.meets('rate_limit')) {
      return { status: 429, headers: { 'retry-after': '1' }, json: this.errorBody() };
    }
    if (this.meets('busy')) {
      return { status: 503, headers: { 'retry-after': '2' }, json: this.errorBody() };
    }
    if (this.meets('refuses_content')) {
      return { status: 400, json: this.refusalBody() };
    }
    if (this.meets('refuses_key')) {
      return { status: 401, json: this.errorBody() };
    }
    if (`${seen.path} ${seen.text}`.includes('no-such-model')) {
      return { status: 404, json: this.errorBody() };
    }
    const run = { id, body: seen, polls: 0, canceled: false, failed: false };
    this.runs.set(id, run);
    if (this.meets('error_after_accepting')) {
      return { status: 500, json: this.errorBody() };
    }
    if (this.meets('silent_after_accepting')) {
      return { silent: true };
    }
    return this.meets('reset_after_accepting') ? { ...reply(run), cut: true } : reply(run);
  }

  /** {@link accept}, but answers a key that came before with the run that it began, whatever the answer was then. */
  protected acceptOnce(
    key: string | undefined,
    seen: SeenRequest,
    reply: (run: ServerRun, isRepeated: boolean) => EngineReply,
  ): EngineReply {
    const known = key === undefined ? undefined : this.#byKey.get(key);
    if (known && this.runs.has(known.id)) {
      return reply(known, true);
    }
    const before = this.runs.size;
    const answer = this.accept(seen, (run) => reply(run, false));
    const begun = [...this.runs.values()][before];
    if (key !== undefined && begun) {
      this.#byKey.set(key, begun);
    }
    return answer;
  }

  /** Returns the progress of a run, which advances by one step per poll. */
  protected step(run: ServerRun): { done: boolean; fraction: number } {
    run.polls += 1;
    if (this.meets('never_finishes')) {
      return { done: false, fraction: 0.5 };
    }
    const done = run.polls >= POLLS_UNTIL_DONE;
    const fraction = this.meets('runs_backwards') ? 1 - run.polls * 0.4 : run.polls / POLLS_UNTIL_DONE;
    return { done, fraction };
  }

  /** Returns the reply with which the fault replaces a poll's answer; undefined when it does not. */
  protected brokenPoll(): EngineReply | undefined {
    if (this.meets('polls_break')) {
      return { status: 502, json: this.errorBody() };
    }
    return this.meets('garbage_polls') ? { bytes: Buffer.from('<html>gateway</html>') } : undefined;
  }

  /** Returns the file of a finished run, as the fault says. */
  protected output(): EngineReply {
    if (this.meets('output_missing')) {
      return { status: 404, json: this.errorBody() };
    }
    if (this.meets('output_is_html')) {
      return { bytes: Buffer.from('<html><body>Link expired</body></html>') };
    }
    if (this.meets('output_too_large')) {
      const length = String(600 * 1024 * 1024);
      return { bytes: this.media, headers: { 'content-length': length }, cut: true };
    }
    return { bytes: this.media, cut: this.meets('output_cut') };
  }

  /** Returns the file of a finished run as base64 in JSON, as the fault says. */
  protected base64(): string {
    if (this.meets('output_is_html')) {
      return Buffer.from('<html><body>Link expired</body></html>').toString('base64');
    }
    if (this.meets('output_too_large')) {
      tooLarge ??= Buffer.alloc(TOO_LARGE_BYTES).toString('base64');
      return tooLarge;
    }
    return this.media.toString('base64');
  }

  protected errorBody(): unknown {
    return { error: { message: UPSTREAM_SECRET, type: 'server_error', code: null } };
  }

  protected refusalBody(): unknown {
    return {
      error: {
        message: UPSTREAM_SECRET,
        type: 'invalid_request_error',
        code: 'content_policy_violation',
      },
    };
  }

  async #handle(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of message) {
      chunks.push(chunk as Buffer);
    }
    const url = new URL(message.url ?? '', 'http://engine');
    const text = Buffer.concat(chunks).toString('utf8');
    const seen: SeenRequest = {
      method: message.method ?? '',
      target: message.url ?? '',
      path: url.pathname,
      query: url.searchParams,
      headers: message.headers,
      text,
      json: parse(text),
    };
    this.requests.push(seen);
    if (this.isFrozen) {
      return;
    }
    const reply = (await this.refuse(seen)) ?? this.route(seen);
    const answer = reply ?? { status: 404, bytes: Buffer.from('404: Not Found') };
    await send(response, this.change?.(answer) ?? answer);
  }
}

async function send(response: ServerResponse, reply: EngineReply): Promise<void> {
  if (reply.silent) {
    return;
  }
  const body = reply.bytes ?? Buffer.from(JSON.stringify(reply.json ?? null));
  const type = reply.bytes ? 'application/octet-stream' : 'application/json';
  response.writeHead(reply.status ?? 200, {
    'content-type': type,
    'content-length': String(body.length),
    ...reply.headers,
  });
  if (reply.cut) {
    // The written bytes must be sent before the connection breaks.
    await new Promise<void>((resolve) => response.write(body.subarray(0, body.length / 2), () => resolve()));
    setTimeout(() => response.socket?.resetAndDestroy(), 10);
    return;
  }
  response.end(body);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
