import type { FormData } from 'undici';
import { publicLookup } from '../lib/ip-address.ts';
import { CallTimeouts } from '../upstream/call-timeouts.ts';
import { type AnswerBody, decodedBody, UNCODED } from '../upstream/decoded-body.ts';
import { type HttpCall, HttpClient } from '../upstream/http-client.ts';
import { readBody } from '../upstream/read-body.ts';
import { TransportError } from '../upstream/transport-error.ts';
import type { CallSigner } from './call-signer.ts';
import { EngineError, type EngineFailure, ScratchDiskError } from './engine.types.ts';
import { ENGINE_AWAY, isOutcomeUnknown, MALFORMED, withUpstreamMessage } from './engine-failures.ts';
import { toEngineError } from './transport-failure.ts';
import { isAlive, readAnswer, type UpstreamAnswer, type UpstreamResponse } from './upstream-answer.ts';

export interface UpstreamHttpSettings {
  /** Origin and path that every call's path is appended to. */
  readonly baseUrl: string;
  /** Sent to this origin only. */
  readonly headers: Readonly<Record<string, string>>;
  /** Signs every call to this origin. Closed with the connections. */
  readonly signer?: CallSigner | undefined;
  /** Query parameters added to every call to this origin that does not set them itself. */
  readonly query?: Readonly<Record<string, string>>;
  /** Ms to connect, including TLS. */
  readonly connectMs: number;
  /** Ms from sending a request to receiving the response headers. */
  readonly firstByteMs: number;
  /** Ms between two chunks of a response. */
  readonly idleMs: number;
  /** Ms for a whole call; downloads have their own limit. */
  readonly totalMs: number;
  /** Whether outputs may be on other hosts in private networks. */
  readonly privateDownloads: boolean;
}

export interface EngineCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** A path to append to the base URL, or an absolute URL. */
  readonly path: string;
  readonly json?: object;
  readonly form?: FormData;
  /** A raw body, whose content type is in `headers`. */
  readonly text?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  readonly firstByteMs?: number;
  readonly totalMs?: number;
  /** Ms the call may still take after the signal is aborted. */
  readonly graceMs?: number;
}

const UNAUTHORIZED = 401;
/**
 * Extra time in ms for a submit to return its reference when nobody waits for the task anymore: the reference lets us stop or resume the
 * run.
 */
const SUBMIT_GRACE_MS = 5_000;

/** HTTP client for one upstream: its connections, headers and timeouts. Follows no redirects. Owns its connections. */
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

  /** Returns the URL of a path (`/…`) below the base URL, or of an absolute URL. Throws TypeError for anything else. */
  urlOf(path: string): URL {
    const below = path.startsWith('/') ? this.base.origin + this.base.pathname.replace(/\/+$/, '') : '';
    return new URL(below + path);
  }

  /**
   * Reads a JSON response of any status. Only for calls that may be repeated. Throws EngineError when there is none, or the signal's
   * reason.
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

  /** Returns whether a working server answers a GET: see {@link isAlive}. Rejects only with the signal's reason. */
  async isAnswering(path: string, signal: AbortSignal): Promise<boolean> {
    try {
      return await this.#exchange({ method: 'GET', path, signal }, this.#single, async ({ status }) =>
        isAlive(path, status),
      );
    } catch (error) {
      if (error instanceof TransportError) {
        return false;
      }
      if (error instanceof EngineError) {
        // The call could not be signed. If the signer is away, we are not ready; if it rejects us, the tasks will report that.
        return !ENGINE_AWAY.has(error.failure.code);
      }
      throw error;
    }
  }

  /** Like {@link call}, but also throws EngineError for a response outside 2xx. */
  async expect(call: EngineCall): Promise<unknown> {
    const { failure, json } = await this.call(call);
    if (failure) {
      throw new EngineError(failure);
    }
    return json;
  }

  /**
   * Makes a call that starts work. It gets a connection of its own and some time to finish after the signal is aborted. `lost` is thrown
   * when it is unknown whether the work began; undefined when doing it twice costs nothing. `refine` makes a failure more specific, based
   * on the response body.
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
    const { status, retryAfterMs, failure, json } = answer;
    const isNothing = typeof json !== 'object' || json === null;
    const inDoubt = isOutcomeUnknown(status, retryAfterMs) || (!failure && isNothing);
    if (lost && inDoubt) {
      throw new EngineError(withUpstreamMessage(lost, failure?.said));
    }
    if (failure) {
      throw new EngineError(withUpstreamMessage(refine(failure, json), failure.said));
    }
    if (inDoubt) {
      throw new EngineError(MALFORMED);
    }
    return answer;
  }

  /**
   * Makes one exchange whose response `read` consumes. `purpose` chooses the connection: a `submit` never reuses one and is sent once, a
   * `call` may be sent twice. Throws TransportError, the signal's reason, or what `read` throws.
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

  /** Closes all connections. Calls in flight fail. */
  async close(): Promise<void> {
    const { signer } = this.#settings;
    await Promise.allSettled([
      ...[this.#kept, this.#single, this.#others].map((http) => http.close()),
      signer?.close?.(),
    ]);
  }

  // The peer may close a kept connection at the very moment we reuse it.
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

  /** Signs a call to the upstream's own origin. Sends it again when the signature was rejected but can be renewed. */
  async #exchange<T>(
    call: EngineCall,
    http: HttpClient,
    read: (response: UpstreamResponse) => Promise<T>,
  ): Promise<T> {
    const request = this.#requestOf(call);
    const signer = request.origin === this.base.origin ? this.#settings.signer : undefined;
    if (!signer) {
      return await this.#send(call, request, http, read);
    }
    const { origin, path, method, headers, body } = request;
    const url = new URL(origin + path);
    const outgoing = { method, url, headers, body: typeof body === 'string' ? body : '' };
    const signed = await signer.sign(outgoing, call.signal);
    let isRenewed = false;
    const answer = await this.#send(call, withHeaders(request, signed), http, async (response) => {
      isRenewed = response.status === UNAUTHORIZED && (signer.renews?.(signed) ?? false);
      return isRenewed ? undefined : await read(response);
    });
    if (!isRenewed) {
      return answer as T;
    }
    const renewed = await signer.sign(outgoing, call.signal);
    return await this.#send(call, withHeaders(request, renewed), http, read);
  }

  async #send<T>(
    call: EngineCall,
    request: OutgoingRequest,
    http: HttpClient,
    read: (response: UpstreamResponse) => Promise<T>,
  ): Promise<T> {
    const { totalMs, firstByteMs, idleMs } = this.#settings;
    const clocks = new CallTimeouts(call.totalMs ?? totalMs, call.signal, call.graceMs);
    let body: AnswerBody | undefined;
    try {
      clocks.enter(call.firstByteMs ?? firstByteMs);
      const own = request.origin === this.base.origin;
      const response = await (own ? http : this.#others).request(request, clocks);
      const answered = decodedBody(response);
      body = answered;
      clocks.enter(idleMs);
      return await read({
        status: response.statusCode,
        header: (name) => response.headers[name]?.toString(),
        chunks: touching(answered, clocks),
        whole: (bytesMax) => readBody(answered, bytesMax, clocks),
      });
    } catch (error) {
      const isOurs = error instanceof EngineError || error instanceof ScratchDiskError;
      throw isOurs ? error : clocks.explain(error);
    } finally {
      clocks.stop();
      // The unread rest is not needed. A destroyed body may still emit an error that nobody listens for.
      body?.on('error', () => undefined);
      body?.destroy();
    }
  }

  #requestOf(call: EngineCall): OutgoingRequest {
    const url = this.urlOf(call.path);
    const own = url.origin === this.base.origin;
    for (const [name, value] of Object.entries((own && this.#settings.query) || {})) {
      url.searchParams.set(name, url.searchParams.get(name) ?? value);
    }
    return {
      origin: url.origin,
      method: call.method,
      path: url.pathname + url.search,
      headers: {
        ...UNCODED,
        ...(own ? this.#settings.headers : {}),
        ...(call.json ? { 'content-type': 'application/json' } : {}),
        ...call.headers,
      },
      body: call.json ? JSON.stringify(call.json) : (call.form ?? call.text ?? null),
    };
  }
}

type OutgoingRequest = Required<HttpCall>;

function withHeaders(request: OutgoingRequest, added: Readonly<Record<string, string>>): OutgoingRequest {
  return { ...request, headers: { ...request.headers, ...added } };
}

async function* touching(body: AsyncIterable<Buffer>, clocks: CallTimeouts): AsyncGenerator<Buffer, void> {
  for await (const chunk of body) {
    clocks.touch();
    yield chunk;
  }
}
