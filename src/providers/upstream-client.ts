import { Readable } from 'node:stream';
import type { InTurn } from '../lib/event-loop-queue.ts';
import { isShortJson, jsonInSteps } from '../lib/json-text.ts';
import type { StopSignal } from '../lib/stop-signal.ts';
import { CallClocks } from '../upstream/call-clocks.ts';
import { type HttpAnswer, HttpClient } from '../upstream/http-client.ts';
import { readBody } from '../upstream/read-body.ts';
import { retryAfterMs } from '../upstream/retry-after.ts';
import { AnswerRecorder, type Recording } from './answer-recorder.ts';
import { failureOfStatus, throwIfError } from './classify-failure.ts';
import { isObject, type JsonObject, parseJson } from './json.ts';
import { failureOfThrown, ProviderFailure } from './provider-failure.ts';
import type { UpstreamSettings } from './provider-settings.ts';
import { type EventBatch, readEvents } from './upstream-events.ts';

/** Largest JSON answer read, in bytes. */
const ANSWER_BYTES_MAX = 33_554_432;
/** Of an error's body only its codes are looked at, in bytes. */
const ERROR_BYTES_MAX = 65_536;
/** A JSON answer starts when it is complete, so each token it may have buys it this much time, in ms (40 tokens/s). */
const MS_PER_OUTPUT_TOKEN = 25;

/** A server that cannot tell its models within this many ms is as good as away. */
const PROBE_MS = 5_000;
/** A gateway or the server itself says that nobody can serve now. A 500 may be about this very path. */
const DOWN: ReadonlySet<number> = new Set([502, 503, 504, 529]);

type Accepted = 'application/json' | 'text/event-stream';

export interface UpstreamCall {
  /** Appended to the provider's base URL. */
  readonly path: string;
  /** Of this call alone. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: JsonObject;
  readonly maxOutputTokens: number;
  /** Writes a long body in turns with what else is to be done. */
  readonly inTurn: InTurn;
  readonly signal: StopSignal;
}

export interface UpstreamStreamCall extends UpstreamCall {
  /** True once the protocol's last event was consumed. */
  readonly isEnded: () => boolean;
  /** A whole answer as the events of a stream, for servers that do not stream. */
  readonly answerAsEvents: (answer: JsonObject) => readonly string[];
}

/** HTTP to one provider: one connection pool, its headers, its clocks. */
export class UpstreamClient {
  readonly #settings: UpstreamSettings;
  readonly #headers: Readonly<Record<Accepted, Readonly<Record<string, string>>>>;
  readonly #basePath: string;
  readonly #query: string;
  readonly #http: HttpClient;
  readonly #recorder: AnswerRecorder | undefined;

  constructor(settings: UpstreamSettings, headers: Readonly<Record<string, string>>) {
    const url = new URL(settings.base_url);
    const query = new URLSearchParams([...url.searchParams, ...Object.entries(settings.query)]).toString();
    this.#settings = settings;
    this.#recorder = settings.record && new AnswerRecorder(settings.id, settings.protocol, settings.record);
    const sent = { 'content-type': 'application/json', ...headers, ...settings.headers };
    this.#headers = {
      'application/json': { ...sent, accept: 'application/json' },
      'text/event-stream': { ...sent, accept: 'text/event-stream' },
    };
    this.#basePath = url.pathname.replace(/\/+$/, '');
    this.#query = query === '' ? '' : `?${query}`;
    const { connections, timeouts } = settings;
    this.#http = new HttpClient({ origin: url.origin, connections, connectMs: timeouts.connect_ms });
  }

  /** Posts and reads one whole JSON answer. Throws {@link ProviderFailure}, and AppError service_unavailable when no turn came. */
  async postForJson(call: UpstreamCall): Promise<JsonObject> {
    const { total_ms, first_byte_ms, idle_ms } = this.#settings.timeouts;
    const body = await writtenBody(call);
    const clocks = new CallClocks(total_ms, call.signal);
    try {
      clocks.enter(first_byte_ms + call.maxOutputTokens * MS_PER_OUTPUT_TOKEN);
      const response = await this.#send(call, body, clocks, 'application/json');
      clocks.enter(idle_ms);
      return await readAnswer(response.body, clocks, this.#record(response, call, false));
    } catch (error) {
      throw failureOfThrown(error, clocks, 'interrupted');
    } finally {
      clocks.stop();
    }
  }

  /**
   * Posts and resolves with the event stream once it answered 2xx. Throws {@link ProviderFailure}, also while iterated, and AppError
   * service_unavailable when no turn came.
   */
  async postForEvents(call: UpstreamStreamCall): Promise<AsyncGenerator<EventBatch, void>> {
    const body = await writtenBody(call);
    const clocks = new CallClocks(this.#settings.timeouts.total_ms, call.signal);
    try {
      clocks.enter(this.#settings.timeouts.first_byte_ms);
      const response = await this.#send(call, body, clocks, 'text/event-stream');
      const type = String(response.headers['content-type'] ?? '');
      if (type.includes('application/json')) {
        const recording = this.#record(response, call, true);
        return await readWhole(response.body, clocks, call.answerAsEvents, recording);
      }
      const { idle_ms } = this.#settings.timeouts;
      return readEvents(response.body, {
        clocks,
        idleMs: idle_ms,
        isEnded: call.isEnded,
        recording: this.#record(response, call, true),
      });
    } catch (error) {
      clocks.abandon();
      throw failureOfThrown(error, clocks, 'interrupted');
    }
  }

  /** Whether the server answers at all: gets `path`. Throws {@link ProviderFailure} when it does not, or says that it is down. */
  async probe(path: string, signal: StopSignal): Promise<void> {
    const clocks = new CallClocks(PROBE_MS, signal);
    try {
      const headers = this.#headers['application/json'];
      const call = { method: 'GET', path: `${this.#basePath}${path}${this.#query}`, headers } as const;
      const response = await this.#http.request(call, clocks);
      await response.body.dump({ limit: ANSWER_BYTES_MAX });
      if (DOWN.has(response.statusCode)) {
        throw failureOfStatus(response.statusCode, undefined, undefined);
      }
    } catch (error) {
      throw failureOfThrown(error, clocks, 'unreachable');
    } finally {
      clocks.stop();
    }
  }

  /** Destroys the pool; calls in flight fail. */
  async close(): Promise<void> {
    await this.#http.close();
  }

  #record(
    { headers }: HttpAnswer,
    { maxOutputTokens }: UpstreamCall,
    streamed: boolean,
  ): Recording | undefined {
    const type = String(headers['content-type'] ?? '');
    return this.#recorder?.begin({ type, streamed, maxOutputTokens });
  }

  async #send(
    call: UpstreamCall,
    body: WrittenBody,
    clocks: CallClocks,
    accept: Accepted,
  ): Promise<HttpAnswer> {
    const request = {
      method: 'POST',
      path: `${this.#basePath}${call.path}${this.#query}`,
      headers: { ...call.headers, ...this.#headers[accept], ...lengthOf(body) },
      body: typeof body === 'string' ? body : Readable.from(body),
    } as const;
    const response = await this.#http.request(request, clocks).catch((error: unknown) => {
      throw failureOfThrown(error, clocks, 'unreachable');
    });
    if (response.statusCode >= 200 && response.statusCode < 300) {
      return response;
    }
    const waitMs = retryAfterMs((name) => response.headers[name]?.toString());
    const text = await readText(response.body, ERROR_BYTES_MAX, clocks).catch(() => '');
    throw failureOfStatus(response.statusCode, waitMs, parseJson(text));
  }
}

/** A long body is written in parts, which leave as fast as the provider takes them. */
type WrittenBody = string | readonly Buffer[];

/** Of a stream nobody could tell it, and not every provider takes bodies of unknown length. */
function lengthOf(body: WrittenBody): Readonly<Record<string, string>> {
  return typeof body === 'string'
    ? {}
    : { 'content-length': String(body.reduce((sum, part) => sum + part.length, 0)) };
}

async function writtenBody({ body, inTurn }: UpstreamCall): Promise<WrittenBody> {
  return isShortJson(body) ? JSON.stringify(body) : await inTurn(jsonInSteps(body));
}

/** Reads one JSON answer that is no error. */
async function readAnswer(
  body: HttpAnswer['body'],
  clocks: CallClocks,
  recording: Recording | undefined,
): Promise<JsonObject> {
  const text = await readText(body, ANSWER_BYTES_MAX, clocks);
  recording?.add(Buffer.from(text));
  recording?.end();
  const answer = parseJson(text);
  if (!isObject(answer)) {
    throw new ProviderFailure('malformed');
  }
  throwIfError(answer);
  return answer;
}

/** A JSON answer in place of a stream, as the one batch of a stream. */
async function readWhole(
  body: HttpAnswer['body'],
  clocks: CallClocks,
  asEvents: (answer: JsonObject) => readonly string[],
  recording: Recording | undefined,
): Promise<AsyncGenerator<EventBatch, void>> {
  const batch = asEvents(await readAnswer(body, clocks, recording)).map((data) => ({ data }));
  clocks.stop();
  return (async function* () {
    yield batch;
  })();
}

async function readText(body: HttpAnswer['body'], bytesMax: number, clocks: CallClocks): Promise<string> {
  return (await readBody(body, bytesMax, clocks)).toString('utf8');
}
