import type { FormData } from 'undici';
import { publicLookup } from '../lib/ip-address.ts';
import { CallClocks } from '../upstream/call-clocks.ts';
import { type HttpAnswer, HttpClient } from '../upstream/http-client.ts';
import { readBody } from '../upstream/read-body.ts';
import { retryAfterMs } from '../upstream/retry-after.ts';
import { TransportError } from '../upstream/transport-error.ts';
import { EngineError, type EngineFailure } from './engine.types.ts';
import { engineFailureOfStatus, leavesOpen, MALFORMED, withWords } from './engine-failures.ts';
import { toEngineError } from './transport-failure.ts';

export interface UpstreamHttpSettings {
  /** Origin and path that every call's path is appended to. */
  readonly baseUrl: string;
  /** Sent to this origin only. */
  readonly headers: Readonly<Record<string, string>>;
  /** Added to the address of every call to this origin that does not say otherwise. */
  readonly query?: Readonly<Record<string, string>>;
  /** Ms for TCP and TLS. */
  readonly connectMs: number;
  /** Ms from sending a request to the head of its answer. */
  readonly firstByteMs: number;
  /** Ms between two pieces of an answer. */
  readonly idleMs: number;
  /** Ms for a whole call; downloads have their own. */
  readonly totalMs: number;
  /** Whether outputs may lie on other hosts in private networks. */
  readonly privateDownloads: boolean;
}

export interface EngineCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Appended to the base URL; or a whole URL. */
  readonly path: string;
  readonly json?: object;
  readonly form?: FormData;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  readonly firstByteMs?: number;
  readonly totalMs?: number;
  /** Ms the call may still take after the signal aborted. */
  readonly graceMs?: number;
}

/** The head of an answer, with its body still to come. */
export interface UpstreamResponse {
  readonly status: number;
  header(name: string): string | undefined;
  /** The body; can be read once. */
  readonly chunks: AsyncIterable<Buffer>;
  /** The same as a whole. Throws TransportError when it has more bytes. */
  whole(bytesMax: number): Promise<Buffer>;
}

/** An answer outside 2xx is one, too: `failure` says what it means. */
export interface UpstreamAnswer {
  readonly status: number;
  readonly json: unknown;
  readonly retryAfterMs: number | undefined;
  readonly failure: EngineFailure | undefined;
}

const ANSWER_BYTES_MAX = 4 * 1024 * 1024;
/** Time for a submit to say its reference although nobody waits for the task any more: with it the run can be stopped or resumed. */
const SUBMIT_GRACE_MS = 5_000;

/** HTTP to one upstream: its connections, its headers, its clocks. Follows no redirect. Owns its connections. */
export class UpstreamHttp {
  readonly base: URL;
  readonly #settings: UpstreamHttpSettings;
  readonly #kept: HttpClient;
  readonly #single: HttpClient;
  readonly #others: HttpClient;

  constructor(settings: UpstreamHttpSettings) {
    this.base = new URL(settings.baseUrl);
    this.#settings = settings;
    const { connectMs } = settings;
    const { origin, hostname } = this.base;
    this.#kept = new HttpClient({ origin, connectMs });
    this.#single = new HttpClient({ origin, connectMs, isSingleUse: true });
    const lookup = settings.privateDownloads ? {} : { lookup: publicLookup({ exemptHost: hostname }) };
    this.#others = new HttpClient({ connectMs, ...lookup });
  }

  get privateDownloads(): boolean {
    return this.#settings.privateDownloads;
  }

  /** The URL of a path (`/…`) below the base URL, or of a whole URL. Throws TypeError for anything else. */
  urlOf(path: string): URL {
    const below = path.startsWith('/') ? this.base.origin + this.base.pathname.replace(/\/+$/, '') : '';
    return new URL(below + path);
  }

  /**
   * Reads a JSON answer of any status; for calls that may be repeated. Throws EngineError when there is none, or the signal's reason.
   */
  async call(call: EngineCall): Promise<UpstreamAnswer> {
    const { method } = call;
    try {
      return await (method === 'GET'
        ? this.#exchangePatiently(call, readAnswer)
        : this.#exchange(call, this.#single, readAnswer));
    } catch (error) {
      throw toEngineError(error);
    }
  }

  /** Whether a GET is answered by a server that works, whatever it thinks of the path. Rejects only with the signal's reason. */
  async isAnswering(path: string, signal: AbortSignal): Promise<boolean> {
    try {
      return await this.#exchange(
        { method: 'GET', path, signal },
        this.#single,
        async ({ status }) => status < 500,
      );
    } catch (error) {
      if (error instanceof TransportError) {
        return false;
      }
      throw error;
    }
  }

  /** Like {@link call}, for answers that must be 2xx. */
  async expect(call: EngineCall): Promise<unknown> {
    const { failure, json } = await this.call(call);
    if (failure) {
      throw new EngineError(failure);
    }
    return json;
  }

  /**
   * A call that begins work. It gets a connection of its own and some time to finish after the signal aborted. `lost` is thrown when
   * the answer leaves open whether the work began; undefined where doing it twice costs nothing. `refine` may tell more about a
   * refusal by its body.
   */
  async submit(
    call: EngineCall,
    lost: EngineFailure | undefined,
    refine: (failure: EngineFailure, json: unknown) => EngineFailure = (failure) => failure,
  ): Promise<UpstreamAnswer> {
    call.signal?.throwIfAborted();
    let answer: UpstreamAnswer;
    try {
      answer = await this.#exchange({ graceMs: SUBMIT_GRACE_MS, ...call }, this.#single, readAnswer);
    } catch (error) {
      throw lost && error instanceof TransportError && error.sent
        ? new EngineError(lost, { cause: error })
        : toEngineError(error);
    }
    const inDoubt =
      leavesOpen(answer.status, answer.retryAfterMs) || (!answer.failure && isNothing(answer.json));
    if (lost && inDoubt) {
      throw new EngineError(withWords(lost, answer.failure?.said));
    }
    if (answer.failure) {
      throw new EngineError(withWords(refine(answer.failure, answer.json), answer.failure.said));
    }
    if (inDoubt) {
      throw new EngineError(MALFORMED);
    }
    return answer;
  }

  /**
   * One exchange whose body `read` takes in. `purpose` chooses the connection: a `submit` never reuses one and is sent once, a `call`
   * may be sent twice. Throws TransportError, the signal's reason, or what `read` throws.
   */
  async exchange<T>(
    call: EngineCall,
    purpose: 'call' | 'submit',
    read: (response: UpstreamResponse) => Promise<T>,
  ): Promise<T> {
    return await (purpose === 'submit'
      ? this.#exchange(call, this.#single, read)
      : this.#exchangePatiently(call, read));
  }

  /** Destroys all connections; calls in flight fail. */
  async close(): Promise<void> {
    await Promise.allSettled([this.#kept.close(), this.#single.close(), this.#others.close()]);
  }

  // A kept connection may be closed by the peer at the very moment it is used again.
  async #exchangePatiently<T>(
    call: EngineCall,
    read: (response: UpstreamResponse) => Promise<T>,
  ): Promise<T> {
    let answered = false;
    try {
      return await this.#exchange(call, this.#kept, (response) => {
        answered = true;
        return read(response);
      });
    } catch (error) {
      if (!answered && error instanceof TransportError && error.reason === 'interrupted') {
        return await this.#exchange(call, this.#single, read);
      }
      throw error;
    }
  }

  async #exchange<T>(
    call: EngineCall,
    http: HttpClient,
    read: (response: UpstreamResponse) => Promise<T>,
  ): Promise<T> {
    const { totalMs, firstByteMs, idleMs } = this.#settings;
    const clocks = new CallClocks(call.totalMs ?? totalMs, call.signal, call.graceMs);
    let body: HttpAnswer['body'] | undefined;
    try {
      clocks.enter(call.firstByteMs ?? firstByteMs);
      const response = await this.#send(call, http, clocks);
      const answered = response.body;
      body = answered;
      clocks.enter(idleMs);
      return await read({
        status: response.statusCode,
        header: (name) => response.headers[name]?.toString(),
        chunks: touching(answered, clocks),
        whole: (bytesMax) => readBody(answered, bytesMax, clocks),
      });
    } catch (error) {
      throw error instanceof EngineError ? error : clocks.explain(error);
    } finally {
      clocks.stop();
      // Whatever was not read is not wanted; a destroyed body may still report that nobody reads it.
      body?.on('error', () => undefined);
      body?.destroy();
    }
  }

  async #send(call: EngineCall, http: HttpClient, clocks: CallClocks): Promise<HttpAnswer> {
    const url = this.urlOf(call.path);
    const own = url.origin === this.base.origin;
    for (const [name, value] of Object.entries((own && this.#settings.query) || {})) {
      url.searchParams.set(name, url.searchParams.get(name) ?? value);
    }
    const request = {
      origin: url.origin,
      method: call.method,
      path: url.pathname + url.search,
      headers: {
        ...(own ? this.#settings.headers : {}),
        ...(call.json ? { 'content-type': 'application/json' } : {}),
        ...call.headers,
      },
      body: call.json ? JSON.stringify(call.json) : (call.form ?? null),
    };
    return await (own ? http : this.#others).request(request, clocks);
  }
}

async function readAnswer(response: UpstreamResponse): Promise<UpstreamAnswer> {
  const { status } = response;
  const text = (await response.whole(ANSWER_BYTES_MAX)).toString('utf8');
  const json = parse(text);
  const askedMs = retryAfterMs(response.header);
  const isFine = status >= 200 && status < 300;
  const failure = isFine ? undefined : withWords(engineFailureOfStatus(status, askedMs), `${status} ${text}`);
  return { status, json, retryAfterMs: askedMs, failure };
}

async function* touching(body: AsyncIterable<Buffer>, clocks: CallClocks): AsyncGenerator<Buffer, void> {
  for await (const chunk of body) {
    clocks.touch();
    yield chunk;
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isNothing(json: unknown): boolean {
  return typeof json !== 'object' || json === null;
}
