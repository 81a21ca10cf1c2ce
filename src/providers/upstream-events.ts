import { createParser } from 'eventsource-parser';
import type { CallTimeouts } from '../upstream/call-timeouts.ts';
import type { HttpAnswer } from '../upstream/http-client.ts';
import type { Recording } from './answer-recorder.ts';
import { parseJson } from './json.ts';
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

type Body = HttpAnswer['body'];

export interface EventReading {
  readonly clocks: CallTimeouts;
  /** Maximum silence between two pieces, in ms. */
  readonly idleMs: number;
  /** Called after each batch is consumed. Returns true if it held the protocol's last event, which only the reader can tell. */
  readonly isEnded: () => boolean;
  /** Receives the bytes as they arrive, if the operator records answers. */
  readonly recording: Recording | undefined;
}

/**
 * Reads server-sent events up to the last one or the end of the body. Reads only when the consumer pulls, so backpressure
 * limits read-ahead to one socket buffer. Leaving the iteration early ends the upstream call.
 * Throws {@link ProviderFailure}.
 */
export async function* readEvents(body: Body, reading: EventReading): AsyncGenerator<EventBatch, void> {
  const { clocks } = reading;
  const collector = createCollector();
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
    const last = reading.isEnded() ? [] : collector.feed(`${decoder.decode()}\n\n`).filter(isWhole);
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

/** Returns whether an event is complete. Some servers close after the last event without the blank line that ends it. */
function isWhole({ data }: UpstreamEvent): boolean {
  return data.trim() === '[DONE]' || parseJson(data) !== undefined;
}

function createCollector(): { feed(text: string): EventBatch } {
  let events: UpstreamEvent[] = [];
  const parser = createParser({
    maxBufferSize: EVENT_LENGTH_MAX,
    onEvent: (event) => events.push(event),
    onError: (error) => {
      if (error.type === 'max-buffer-size-exceeded') {
        throw new ProviderFailure('malformed');
      }
    },
  });
  return {
    feed(text) {
      parser.feed(text);
      const batch = events;
      events = [];
      return batch;
    },
  };
}

/** Reads the little that may follow so that the connection can be reused. Gives up if the provider keeps sending. */
function releaseConnection(body: Body): void {
  body.on('error', () => undefined);
  body
    .dump({ limit: LEFTOVER_BYTES_MAX, signal: AbortSignal.timeout(LEFTOVER_MS) })
    .catch(() => body.destroy());
}
