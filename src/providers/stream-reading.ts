import { failureOfError } from './classify-failure.ts';
import { isObject, type JsonObject, parseJson } from './json.ts';
import type { StreamBatch, StreamPart } from './provider.types.ts';
import { ProviderFailure } from './provider-failure.ts';
import type { EventBatch } from './upstream-events.ts';

/** Reads one protocol's events; one instance per stream, since some facts are spread over several events. */
export interface EventReader {
  /** The part an event stands for; undefined for one without meaning. Throws {@link ProviderFailure} for an error event. */
  read(event: JsonObject): StreamPart | undefined;
  /** Takes note of `[DONE]`, the end that some protocols say without JSON. */
  done(): void;
  /** True once the provider said that its answer is complete. */
  isComplete(): boolean;
  /** True after the event that the protocol ends with: nothing of interest follows. */
  isEnded(): boolean;
}

/** Batches without content that are held back at most while waiting for the first token. */
const OPENING_BATCHES_MAX = 16;

/**
 * Turns event texts into parts and waits for the first with content: providers like to greet first and refuse then,
 * and until something of the answer was passed on the call can still go elsewhere. The result fails with
 * `interrupted` when the provider stops without saying that it is done: half an answer must not look like a whole one.
 */
export async function openParts(
  events: AsyncGenerator<EventBatch, void>,
  reader: EventReader,
): Promise<AsyncIterable<StreamBatch>> {
  const parts = readParts(events, reader);
  const opening: StreamPart[] = [];
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
  return prepend(opening, parts);
}

function hasContent(part: StreamPart): boolean {
  return part.text !== '' || part.reasoning !== '' || part.finishReason !== undefined;
}

async function* readParts(
  events: AsyncGenerator<EventBatch, void>,
  reader: EventReader,
): AsyncGenerator<StreamBatch, void> {
  for await (const batch of events) {
    const parts: StreamPart[] = [];
    for (const data of batch) {
      const part = readPart(data, reader);
      if (part) {
        parts.push(part);
      }
      if (reader.isEnded()) {
        break;
      }
    }
    if (parts.length > 0) {
      yield parts;
    }
  }
  if (!reader.isComplete()) {
    throw new ProviderFailure('interrupted');
  }
}

function readPart(data: string, reader: EventReader): StreamPart | undefined {
  if (data.length < 16 && data.trim() === '[DONE]') {
    reader.done();
    return undefined;
  }
  const event = parseJson(data);
  if (!isObject(event)) {
    throw new ProviderFailure('malformed');
  }
  if (isObject(event.error)) {
    throw failureOfError(event.error);
  }
  return reader.read(event);
}

/** Written by hand: a generator that delegates would cost every batch two more turns of the event loop's queue. */
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
