import { createParser, type ParseError } from 'eventsource-parser';
import type { CallTimeouts } from '../upstream/call-timeouts.ts';
import type { AnswerBody } from '../upstream/decoded-body.ts';
import type { Recording } from './answer-recorder.ts';
import { answerOf, throwIfError } from './classify-failure.ts';
import { isObject, type JsonObject, parseProviderJson } from './json.ts';
import { failureOfThrown, ProviderFailure } from './provider-failure.ts';

/** Maximum length of a single event, in UTF-16 units. */
const EVENT_LENGTH_MAX = 33_554_432;
/** How much the provider may still send after the last event, and for how long, for its connection to be reused; in bytes and ms. */
const LEFTOVER_BYTES_MAX = 65_536;
const LEFTOVER_MS = 1_000;

export interface UpstreamEvent {
  /** The event's name, if it has one. Both protocols repeat it in the data, but some proxies do not. */
  readonly event?: string | undefined;
  readonly data: string;
}

/** The events that arrived in one piece. */
export type EventBatch = readonly UpstreamEvent[];

export interface EventReading {
  readonly clocks: CallTimeouts;
  /** Maximum silence between two pieces, in ms. */
  readonly idleMs: number;
  /** Called after each batch is consumed. Returns true if it held the protocol's last event, which only the reader can tell. */
  readonly isEnded: () => boolean;
  /** Converts a whole answer to events, for servers that send one although a stream was requested. */
  readonly answerAsEvents: (answer: JsonObject) => readonly string[];
  /** Receives the bytes as they arrive, if the operator records answers. */
  readonly recording: Recording | undefined;
}

/**
 * Reads server-sent events up to the last one or the end of the body. Reads only when the consumer pulls, so backpressure
 * limits read-ahead to one socket buffer. Leaving the iteration early ends the upstream call. A body of JSON, which no server-sent event
 * can begin with, is read as one whole answer or error. Throws {@link ProviderFailure}.
 */
export async function* readEvents(body: AnswerBody, reading: EventReading): AsyncGenerator<EventBatch, void> {
  const { clocks } = reading;
  const collector = new EventCollector(reading.answerAsEvents);
  const decoder = new TextDecoder();
  let started = false;
  let complete = false;
  try {
    for await (const chunk of body.iterator({ destroyOnReturn: false })) {
      reading.recording?.add(chunk);
      const batch = collector.feed(decoder.decode(chunk, { stream: true }));
      clocks.touch();
      if (!started && batch.length > 0) {
        started = true;
        clocks.enter(reading.idleMs);
      }
      if (batch.length === 0) {
        continue;
      }
      clocks.pause();
      yield batch;
      clocks.resume();
      if (reading.isEnded()) {
        break;
      }
    }
    complete = true;
    const last = reading.isEnded() ? [] : collector.end(decoder.decode());
    if (last.length > 0) {
      yield last;
    }
  } catch (error) {
    throw failureOfThrown(error, clocks, 'interrupted');
  } finally {
    reading.recording?.end();
    if (complete || reading.isEnded()) {
      clocks.stop();
      releaseConnection(body);
    } else {
      clocks.abandon();
      body.destroy();
    }
  }
}

/** The first field or comment of a body of server-sent events. No JSON begins with it. */
const FIRST_FIELD = /^\s*(?:data|event|id|retry)?:/;

/** Returns the events of a whole body that is none of JSON. Undefined if it does not begin like events. Throws {@link ProviderFailure}. */
export function eventsOf(text: string): EventBatch | undefined {
  if (!FIRST_FIELD.test(text)) {
    return undefined;
  }
  const collector = new EventCollector(() => []);
  return [...collector.feed(text), ...collector.end('')];
}

/** Returns whether an event is complete. Some servers close after the last event without the blank line that ends it. */
function isWhole({ data }: UpstreamEvent): boolean {
  return data.trim() === '[DONE]' || parseProviderJson(data) !== undefined;
}

/** Anything but white space. */
const BEGINNING = /\S/;

/** Collects the events of a body from its text, or its one JSON value. */
class EventCollector {
  readonly #answerAsEvents: EventReading['answerAsEvents'];
  readonly #parser = createParser({
    maxBufferSize: EVENT_LENGTH_MAX,
    onEvent: (event) => this.#onEvent(event),
    onError: (error) => this.#onError(error),
  });
  #events: UpstreamEvent[] = [];
  #begun = false;
  /** Whether there was an event, and whether there was a line that no event can have. */
  #hasEvents = false;
  #isForeign = false;
  /** The pieces of a body of JSON. */
  #json: string[] | undefined;
  #jsonLength = 0;

  constructor(answerAsEvents: EventReading['answerAsEvents']) {
    this.#answerAsEvents = answerAsEvents;
  }

  /** Returns the events that are complete with this text. */
  feed(text: string): EventBatch {
    if (!this.#begun) {
      this.#begin(text);
    }
    if (this.#json) {
      this.#addJson(this.#json, text);
      return [];
    }
    this.#parser.feed(text);
    const batch = this.#events;
    this.#events = [];
    return batch;
  }

  /** Returns the events that are complete with the last text. */
  end(text: string): EventBatch {
    if (!this.#json) {
      const last = this.feed(`${text}\n\n`).filter(isWhole);
      if (this.#isForeign && !this.#hasEvents) {
        // a page or a note of a proxy: asking again would bring the same
        throw new ProviderFailure('malformed');
      }
      return last;
    }
    this.#json.push(text);
    return this.#answerAsEvents(answerOf(this.#json.join(''))).map((data) => ({ data }));
  }

  /** Decides by the first character what the body is. Until there is one, nothing is lost on the parser: it skips blank lines. */
  #begin(text: string): void {
    const first = BEGINNING.exec(text)?.[0];
    this.#begun = first !== undefined;
    if (first === '{' || first === '[') {
      this.#json = [];
    }
  }

  #addJson(pieces: string[], text: string): void {
    this.#jsonLength += text.length;
    if (this.#jsonLength > EVENT_LENGTH_MAX) {
      throw new ProviderFailure('malformed');
    }
    pieces.push(text);
  }

  #onEvent(event: UpstreamEvent): void {
    this.#hasEvents = true;
    this.#events.push(event);
  }

  #onError({ type, line = '' }: ParseError): void {
    if (type === 'max-buffer-size-exceeded') {
      throw new ProviderFailure('malformed');
    }
    this.#isForeign ||= type === 'unknown-field';
    // an error that a proxy appended as it was to a stream or to its keep-alive comments
    const stray = type === 'unknown-field' && line.startsWith('{') ? parseProviderJson(line) : undefined;
    if (isObject(stray)) {
      throwIfError(stray);
    }
  }
}

/**
 * Reads the little that may follow so that the connection can be reused. Gives up if the provider keeps sending, or compresses although it
 * was asked not to.
 */
function releaseConnection(body: AnswerBody): void {
  body.on('error', () => undefined);
  if (!('dump' in body)) {
    body.destroy();
    return;
  }
  body
    .dump({ limit: LEFTOVER_BYTES_MAX, signal: AbortSignal.timeout(LEFTOVER_MS) })
    .catch(() => body.destroy());
}
