import { failureOfError, throwIfError } from './classify-failure.ts';
import { isObject, type JsonObject, objectOf, parseJson } from './json.ts';
import type { StreamBatch, StreamPart } from './provider.types.ts';
import { ProviderFailure, withUsage } from './provider-failure.ts';
import type { EventBatch, UpstreamEvent } from './upstream-events.ts';

/** Reads one protocol's events; one instance per stream, since some facts are spread over several events. */
export interface EventReader {
  /** Adds the parts that an event stands for. Throws {@link ProviderFailure} for one that means failure. `name`: as SSE has it. */
  read(event: JsonObject, parts: StreamPart[], name?: string): void;
  /** Adds the parts that stand at the end of a complete answer. */
  finish(parts: StreamPart[]): void;
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
 * `interrupted` when the provider stops without saying that it is done: half an answer must not look like a whole one. A failure
 * before the first content carries the usage that was reported until then.
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
    throw withUsage(error, opening.findLast(({ usage }) => usage !== undefined)?.usage);
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
  try {
    for await (const batch of events) {
      const parts: StreamPart[] = [];
      for (const event of batch) {
        readEvent(event, reader, parts);
        if (reader.isEnded()) {
          break;
        }
      }
      if (parts.length > 0) {
        yield parts;
      }
    }
  } catch (error) {
    // what the provider called its end stands, also when the connection breaks before the protocol's last word
    const lost = error instanceof ProviderFailure && LOST.has(error.reason);
    if (!lost || !reader.isComplete()) {
      throw error;
    }
  }
  if (!reader.isComplete()) {
    throw new ProviderFailure('interrupted');
  }
  const last: StreamPart[] = [];
  reader.finish(last);
  yield last;
}

const LOST: ReadonlySet<string> = new Set(['interrupted', 'timeout']);
/** Signs of life that are no JSON; some say nothing at all. */
const KEEP_ALIVE = /^(?:\s*|"?(?:ping|keep[-_]?alive|heartbeat)"?)$/i;

function readEvent({ data, event: name }: UpstreamEvent, reader: EventReader, parts: StreamPart[]): void {
  if (data.length < 16 && data.trim() === '[DONE]') {
    reader.done();
    return;
  }
  const parsed = parseJson(data);
  if (name === 'error') {
    throw failureOfError(objectOf(parsed).error ?? parsed);
  }
  for (const event of Array.isArray(parsed) ? parsed : [parsed]) {
    if (isObject(event)) {
      throwIfError(event);
      reader.read(event, parts, name);
    } else if (!KEEP_ALIVE.test(data) && name !== 'ping') {
      throw new ProviderFailure('malformed');
    }
  }
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
