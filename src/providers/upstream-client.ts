import { Readable } from 'node:stream';
import type { InTurn } from '../lib/event-loop-queue.ts';
import { isShortJson, jsonInSteps } from '../lib/json-text.ts';
import type { StopSignal } from '../lib/stop-signal.ts';
import type { ReportedUsage } from '../lib/usage.ts';
import { CallTimeouts } from '../upstream/call-timeouts.ts';
import { decodedBody, UNCODED } from '../upstream/decoded-body.ts';
import { type HttpAnswer, HttpClient } from '../upstream/http-client.ts';
import { readBody, readBodyOrEnd, textOf } from '../upstream/read-body.ts';
import { retryAfterMs } from '../upstream/retry-after.ts';
import { AnswerRecorder, type Recording } from './answer-recorder.ts';
import { answerOf, failureOfStatus } from './classify-failure.ts';
import { isObject, type JsonObject, parseProviderJson } from './json.ts';
import { ANSWER_BYTES_MAX, ANSWER_LIMITS, usageAtEnd } from './long-answer.ts';
import { failureOfThrown, ProviderFailure } from './provider-failure.ts';
import type { UpstreamSettings } from './provider-settings.ts';
import { type EventBatch, eventsOf, readEvents } from './upstream-events.ts';

/** Maximum size of an error's body, in bytes. Only its codes and message are used. */
const ERROR_BYTES_MAX = 65_536;
/**
 * Extra time for a JSON answer per token it may have, in ms (20 tokens/s, the pace of large models under load): its first byte arrives only
 * when it is complete, and its provider bills it also when nobody waited for it.
 */
const MS_PER_OUTPUT_TOKEN = 50;

/** Timeout of a probe, in ms. A server that cannot list its models by then counts as down. */
const PROBE_MS = 5_000;
/** Statuses with which a gateway or the server itself says that it cannot serve now. Not 500: that may concern only the probed path. */
const DOWN: ReadonlySet<number> = new Set([502, 503, 504, 529]);

/** The data of a body's first event that has any. */
const EVENT_DATA = /^data:(.*)$/m;

type Accepted = 'application/json' | 'text/event-stream';

export interface UpstreamCall {
  /** Appended to the provider's base URL. */
  readonly path: string;
  /** Headers for this call only. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: JsonObject;
  readonly maxOutputTokens: number;
  /** Serializes a long body in turns with other work. */
  readonly inTurn: InTurn;
  readonly signal: StopSignal;
}

export interface UpstreamAnswerCall extends UpstreamCall {
  /** Reads the usage that an answer reports. It is all that is read of one that is too long to be passed on. */
  readonly readUsage: (usage: unknown) => ReportedUsage | undefined;
}

export interface UpstreamStreamCall extends UpstreamCall {
  /** Silence in ms that is normal for the model, although the timeouts of its provider are shorter. */
  readonly silenceMs?: number;
  /** Returns true once the protocol's last event has been consumed. */
  readonly isEnded: () => boolean;
  /** Converts a whole answer to stream events, for servers that do not stream. */
  readonly answerAsEvents: (answer: JsonObject) => readonly string[];
}

/** HTTP client of one provider: one connection pool, its headers and timeouts. */
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
    // compressing would also delay the tokens of a stream
    const ours = { 'content-type': 'application/json', ...UNCODED };
    const sent = { ...ours, ...headers, ...settings.headers };
    this.#headers = {
      'application/json': { ...sent, accept: 'application/json' },
      'text/event-stream': { ...sent, accept: 'text/event-stream' },
    };
    this.#basePath = url.pathname.replace(/\/+$/, '');
    this.#query = query === '' ? '' : `?${query}`;
    const { connections, timeouts } = settings;
    this.#http = new HttpClient({ origin: url.origin, connections, connectMs: timeouts.connect_ms });
  }

  /**
   * Posts and reads one whole JSON answer, or the events of a server that streams although no stream was requested. Throws
   * {@link ProviderFailure}, or AppError service_unavailable if it gets no turn in time.
   */
  async postForAnswer(call: UpstreamAnswerCall): Promise<JsonObject | EventBatch> {
    const { total_ms, first_byte_ms, idle_ms } = this.#settings.timeouts;
    const body = await writtenBody(call);
    const clocks = new CallTimeouts(total_ms, call.signal);
    try {
      clocks.enter(first_byte_ms + call.maxOutputTokens * MS_PER_OUTPUT_TOKEN);
      const response = await this.#send(call, body, clocks, 'application/json');
      clocks.enter(idle_ms);
      return await readAnswer(response, clocks, call.readUsage, this.#record(response, call, false));
    } catch (error) {
      throw failureOfThrown(error, clocks, 'interrupted');
    } finally {
      clocks.stop();
    }
  }

  /** The same for calls that no server answers with events. */
  async postForJson(call: UpstreamAnswerCall): Promise<JsonObject> {
    const answer = await this.postForAnswer(call);
    if (!isObject(answer)) {
      throw new ProviderFailure('malformed');
    }
    return answer;
  }

  /**
   * Posts and resolves to the event stream once the provider has answered 2xx. Throws {@link ProviderFailure}, also during iteration, or
   * AppError service_unavailable if it gets no turn in time.
   */
  async postForEvents(call: UpstreamStreamCall): Promise<AsyncGenerator<EventBatch, void>> {
    const body = await writtenBody(call);
    const { total_ms, first_byte_ms, idle_ms } = this.#settings.timeouts;
    const { silenceMs = 0 } = call;
    const clocks = new CallTimeouts(total_ms, call.signal);
    try {
      clocks.enter(Math.max(first_byte_ms, silenceMs));
      const response = await this.#send(call, body, clocks, 'text/event-stream');
      // the content type is not asked: servers and proxies name every kind of body after every other
      return readEvents(decodedBody(response), {
        clocks,
        idleMs: Math.max(idle_ms, silenceMs),
        isEnded: call.isEnded,
        answerAsEvents: call.answerAsEvents,
        recording: this.#record(response, call, true),
      });
    } catch (error) {
      clocks.abandon();
      throw failureOfThrown(error, clocks, 'interrupted');
    }
  }

  /** Checks that the server answers a GET of `path`. Throws {@link ProviderFailure} if it does not or says that it is down. */
  async probe(path: string, signal: StopSignal): Promise<void> {
    const clocks = new CallTimeouts(PROBE_MS, signal);
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

  /** Destroys the connection pool. Calls in flight fail. */
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
    clocks: CallTimeouts,
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
    const text = await readText(response, ERROR_BYTES_MAX, clocks).catch(() => '');
    throw failureOfStatus(response.statusCode, waitMs, errorBody(text));
  }
}

/** A serialized body; a long one in parts, which are sent as fast as the provider reads them. */
type WrittenBody = string | readonly Buffer[];

/** Returns the content-length header for a body in parts: it is sent as a stream, and not every provider accepts one of unknown length. */
function lengthOf(body: WrittenBody): Readonly<Record<string, string>> {
  return typeof body === 'string'
    ? {}
    : { 'content-length': String(body.reduce((sum, part) => sum + part.length, 0)) };
}

async function writtenBody({ body, inTurn }: UpstreamCall): Promise<WrittenBody> {
  return isShortJson(body) ? JSON.stringify(body) : await inTurn(jsonInSteps(body));
}

/** Returns the body of an error: JSON, JSON in an event of a stream, or text. */
function errorBody(text: string): unknown {
  return parseProviderJson(text) ?? parseProviderJson(EVENT_DATA.exec(text)?.[1] ?? '') ?? text;
}

/** Reads one whole answer, whatever its type says. Throws the failure if it is an error or too long. */
async function readAnswer(
  response: HttpAnswer,
  clocks: CallTimeouts,
  readUsage: UpstreamAnswerCall['readUsage'],
  recording: Recording | undefined,
): Promise<JsonObject | EventBatch> {
  const { bytes, isWhole } = await readBodyOrEnd(decodedBody(response), ANSWER_LIMITS, clocks);
  const text = textOf(bytes);
  if (!isWhole) {
    throw new ProviderFailure('too_long', { usage: usageAtEnd(text, readUsage) });
  }
  recording?.add(Buffer.from(text));
  recording?.end();
  return eventsOf(text) ?? answerOf(text);
}

/** Reads a decoded body of at most `bytesMax` bytes. */
async function readText(response: HttpAnswer, bytesMax: number, clocks: CallTimeouts): Promise<string> {
  return textOf(await readBody(decodedBody(response), bytesMax, clocks));
}
