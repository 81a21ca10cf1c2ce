import { failureOfError, throwIfError } from './classify-failure.ts';
import { isObject, type JsonObject, objectOf, parseProviderJson } from './json.ts';
import type { StreamBatch, StreamPart } from './provider.types.ts';
import { ProviderFailure, withUsageIfUnreadable } from './provider-failure.ts';
import { SplitCharacters } from './split-characters.ts';
import type { EventBatch, UpstreamEvent } from './upstream-events.ts';

/** Reads the events of one protocol. One instance per stream, since some facts are spread over several events. */
export interface EventReader {
  /** Adds the parts of an event. Throws {@link ProviderFailure} for an event that means failure. `name`: the SSE event name. */
  read(event: JsonObject, parts: StreamPart[], name?: string): void;
  /** Adds the parts that end a complete answer. */
  finish(parts: StreamPart[]): void;
  /** Notes `[DONE]`, the end marker of some protocols, which is not JSON. */
  done(): void;
  /** Returns true once the provider has said that its answer is complete. */
  isComplete(): boolean;
  /** Returns true after the protocol's last event: nothing of interest follows. */
  isEnded(): boolean;
}

/** Maximum batches without content held back while waiting for the first token. */
const OPENING_BATCHES_MAX = 16;

/**
 * Converts events to parts and waits for the first with content: providers often send an opening event and reject only then, and until part
 * of the answer has been passed on the call can still go elsewhere. The result fails with `interrupted` when the provider stops without
 * saying that it is done: half an answer must not look complete. An answer that cannot be read carries the usage reported until then.
 */
export async function openParts(
  events: AsyncGenerator<EventBatch, void>,
  reader: EventReader,
): Promise<AsyncIterable<StreamBatch>> {
  const parts = readParts(events, reader);
  const opening: StreamPart[] = [];
  try {
    for (let batches = 0; batches < OPENING_BATCHES_MAX; batches += 1) {
      const next = await parts.next();
      if (next.done) {
        break;
      }
      opening.push(...next.value);
      if (next.value.some(hasContent)) {
        break;
      }
    }
  } catch (error) {
    throw withUsageIfUnreadable(error, usageIn(opening));
  }
  return prepend(opening, parts);
}

/**
 * Returns the parts of a stream that arrived as a whole, for servers that stream although no stream was requested. Throws as
 * {@link openParts} does.
 */
export function wholeParts(events: EventBatch, reader: EventReader): readonly StreamPart[] {
  const parts: StreamPart[] = [];
  try {
    readBatch(events, { reader, characters: new SplitCharacters() }, parts);
    endParts(reader, parts);
  } catch (error) {
    throw withUsageIfUnreadable(error, usageIn(parts));
  }
  return parts;
}

function usageIn(parts: readonly StreamPart[]): StreamPart['usage'] {
  return parts.findLast(({ usage }) => usage !== undefined)?.usage;
}

function hasContent(part: StreamPart): boolean {
  return part.text !== '' || part.reasoning !== '' || part.finishReason !== undefined;
}

async function* readParts(
  events: AsyncGenerator<EventBatch, void>,
  reader: EventReader,
): AsyncGenerator<StreamBatch, void> {
  const reading = { reader, characters: new SplitCharacters() };
  try {
    for await (const batch of events) {
      const parts: StreamPart[] = [];
      readBatch(batch, reading, parts);
      if (parts.length > 0) {
        yield parts;
      }
    }
  } catch (error) {
    // the answer is complete if the provider said so, even when the connection breaks before the protocol's last event
    const lost = error instanceof ProviderFailure && LOST.has(error.reason);
    if (!lost || !reader.isComplete()) {
      throw error;
    }
  }
  const last: StreamPart[] = [];
  endParts(reader, last);
  yield last;
}

interface Reading {
  readonly reader: EventReader;
  readonly characters: SplitCharacters;
}

function readBatch(batch: EventBatch, reading: Reading, parts: StreamPart[]): void {
  for (const event of batch) {
    readEvent(event, reading, parts);
    if (reading.reader.isEnded()) {
      break;
    }
  }
}

function endParts(reader: EventReader, parts: StreamPart[]): void {
  if (!reader.isComplete()) {
    // an end mark without an answer is the provider's whole answer
    throw new ProviderFailure(reader.isEnded() ? 'malformed' : 'interrupted');
  }
  reader.finish(parts);
}

const LOST: ReadonlySet<string> = new Set(['interrupted', 'timeout']);
/** Keep-alive data that is not JSON; sometimes it is empty. */
const KEEP_ALIVE = /^(?:\s*|"?(?:ping|keep[-_]?alive|heartbeat)"?)$/i;

function readEvent(
  { data, event: name }: UpstreamEvent,
  { reader, characters }: Reading,
  parts: StreamPart[],
): void {
  if (data.length < 16 && data.trim() === '[DONE]') {
    reader.done();
    return;
  }
  const parsed = characters.joined(data, parseProviderJson(data));
  if (name === 'error') {
    throw failureOfError(objectOf(parsed).error ?? parsed);
  }
  for (const event of Array.isArray(parsed) ? parsed : [parsed]) {
    if (isObject(event)) {
      throwIfError(event);
      reader.read(event, parts, name);
    } else if (!KEEP_ALIVE.test(data) && name !== 'ping' && !reader.isComplete()) {
      // after a complete answer it is an end mark of the server's own, such as `data: done`
      throw new ProviderFailure('malformed');
    }
  }
}

/** Written by hand because a delegating generator would cost two more microtask turns per batch. */
function prepend(opening: StreamBatch, rest: AsyncGenerator<StreamBatch, void>): AsyncIterable<StreamBatch> {
  let opened = false;
  const iterator: AsyncIterator<StreamBatch, void> = {
    next() {
      if (opened) {
        return rest.next();
      }
      opened = true;
      return Promise.resolve({ done: false, value: opening });
    },
    return: () => rest.return(),
  };
  return { [Symbol.asyncIterator]: () => iterator };
}
