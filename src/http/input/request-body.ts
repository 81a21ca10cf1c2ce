import type { IncomingMessage } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { AppError } from '../../lib/errors.ts';
import type { InTurn } from '../../lib/event-loop-queue.ts';
import { atOnce } from '../../lib/steps.ts';
import { JsonPieces } from './json-pieces.ts';
import { allowSlowBody } from './slow-body.ts';

const JSON_TYPE = /^application\/(?:json|[a-z0-9.+-]{1,60}\+json)$/;

/** Options for reading a body. */
export interface BodyReading {
  /** Called for every chunk before it is kept; may throw to reject the body. */
  readonly onChunk?: (chunk: Buffer) => void;
  /** Whether to wait for slow uplinks as long as they keep a minimum rate. */
  readonly patient?: boolean;
  /** Decides when the bytes after the beginning are processed; by default in the next turn of the event loop. */
  readonly inTurn?: InTurn;
}

/**
 * Reads a request's body into memory. Throws AppError payload_too_large beyond `bytesMax` bytes, unsupported_media_type for a compressed
 * body, and for a patient reading invalid_request (408) when bytes arrive slower than the minimum rate. The rest of a rejected body is
 * dropped.
 */
export function readRequestBody(
  request: IncomingMessage,
  bytesMax: number,
  reading: BodyReading = {},
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  return read(request, bytesMax, reading, {
    add: (chunk) => chunks.push(chunk),
    end: () => (chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)),
  });
}

/**
 * Reads a request's body as JSON while it arrives, and keeps at most one piece of its text in memory. Throws what {@link readRequestBody}
 * throws, AppError invalid_json, and invalid_request for JSON that is nested too deeply or holds too many values.
 */
export function readJson(
  request: IncomingMessage,
  bytesMax: number,
  reading: BodyReading = {},
): Promise<unknown> {
  return read(request, bytesMax, reading, new JsonPieces());
}

/** Builds a result from the chunks of a body. */
interface BodySink<T> {
  add(chunk: Buffer): void;
  end(): T;
}

async function read<T>(
  request: IncomingMessage,
  bytesMax: number,
  reading: BodyReading,
  sink: BodySink<T>,
): Promise<T> {
  const encoding = request.headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw new AppError('unsupported_media_type', 'compressed request bodies are not supported');
  }
  if (Number(request.headers['content-length'] ?? 0) > bytesMax) {
    throw tooLarge(bytesMax);
  }
  return reading.patient
    ? await allowSlowBody(request, () => collect(request, bytesMax, reading, sink))
    : await collect(request, bytesMax, reading, sink);
}

/** Minimum average rate of a slow uplink once the grace is over, in bytes per ms: 16 kB/s, a third of a 384 kbit/s line. */
const FLOOR_BYTES_PER_MS = 16;
const FLOOR_GRACE_MS = 10_000;
const PATIENCE_MS_MAX = 15 * 60_000;
const LOOK_EVERY_MS = 1_000;

/** Bytes at the beginning of a body that are processed as they arrive. */
const BEGINNING_BYTES = 64 * 1024;
/**
 * After the beginning, the body waits for its turn each time this many bytes were processed: Node delivers up to 2 MB of a connection in
 * one turn of the event loop, so ten connections would mean 20 MB to parse.
 */
const TAKEN_BYTES = 16 * 1024;
const IN_NEXT_TURN: InTurn = async (steps) => {
  await nextTurn();
  return atOnce(steps);
};

function collect<T>(
  request: IncomingMessage,
  bytesMax: number,
  reading: BodyReading,
  sink: BodySink<T>,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const settle = { resolve, reject };
    new BodyCollector({ request, bytesMax, reading, sink, settle }).start();
  });
}

interface BodyCollectorParts<T> {
  readonly request: IncomingMessage;
  readonly bytesMax: number;
  readonly reading: BodyReading;
  readonly sink: BodySink<T>;
  readonly settle: { resolve(body: T): void; reject(error: unknown): void };
}

/** Collects the chunks of one body. Used once. */
class BodyCollector<T> {
  readonly #parts: BodyCollectorParts<T>;
  readonly #inTurn: InTurn;
  #watch: NodeJS.Timeout | undefined;
  #bytes = 0;
  #untilTurn = BEGINNING_BYTES;
  #isStopped = false;
  #isWaiting = false;
  #hasEnded = false;

  constructor(parts: BodyCollectorParts<T>) {
    this.#parts = parts;
    this.#inTurn = parts.reading.inTurn ?? IN_NEXT_TURN;
  }

  start(): void {
    const { request, reading, settle } = this.#parts;
    this.#watch = reading.patient ? watchRate(() => this.#bytes, this.#stop) : undefined;
    request.on('data', this.#take);
    request.once('end', () => {
      this.#hasEnded = true;
      // a stream ends in the tick after its last chunk, even when it is paused
      if (!this.#isWaiting) {
        this.#finish();
      }
    });
    request.once('error', (cause) => {
      clearInterval(this.#watch);
      settle.reject(new AppError('invalid_request', 'the body was cut off', { cause }));
    });
    request.once('close', () => clearInterval(this.#watch));
  }

  readonly #take = (chunk: Buffer): void => {
    const { request, bytesMax, reading, sink } = this.#parts;
    this.#bytes += chunk.length;
    try {
      if (this.#bytes > bytesMax) {
        throw tooLarge(bytesMax);
      }
      reading.onChunk?.(chunk);
      this.#untilTurn -= chunk.length;
      if (this.#untilTurn >= 0) {
        sink.add(chunk);
        return;
      }
      this.#untilTurn = TAKEN_BYTES;
      request.pause();
      this.#isWaiting = true;
      this.#inTurn(this.#adding(chunk)).then(() => this.#goOn(), this.#stop);
    } catch (error) {
      this.#stop(error);
    }
  };

  // biome-ignore lint/correctness/useYield: one step, which is short
  *#adding(chunk: Buffer): Generator<undefined, void> {
    if (!this.#isStopped) {
      this.#parts.sink.add(chunk);
    }
  }

  #goOn(): void {
    this.#isWaiting = false;
    if (this.#hasEnded) {
      this.#finish();
    } else {
      this.#parts.request.resume();
    }
  }

  #finish(): void {
    clearInterval(this.#watch);
    if (this.#isStopped) {
      return;
    }
    const { sink, settle } = this.#parts;
    try {
      settle.resolve(sink.end());
    } catch (error) {
      settle.reject(error);
    }
  }

  readonly #stop = (error: unknown): void => {
    if (this.#isStopped) {
      return;
    }
    const { request, settle } = this.#parts;
    clearInterval(this.#watch);
    this.#isStopped = true;
    request.off('data', this.#take);
    dropBody(request);
    settle.reject(error);
  };
}

/**
 * Bytes of a rejected body that are dropped as fast as the event loop turns, so that most clients can read the reason without waiting.
 */
const DROPPED_AT_ONCE_BYTES = 1024 * 1024;
/** The rest is dropped at 6 MB/s: at full speed, ten clients that send large bodies in vain would use up a processor. */
const DROPPED_BYTES = 64 * 1024;
const DROP_EVERY_MS = 10;

/**
 * Drops the body of a request that is answered before anyone began to read it. Must be called before the response has ended. Short bodies
 * are left to Node, which drops them at less cost, but as fast as they arrive.
 */
export function dropUnread(request: IncomingMessage): void {
  const announced = Number(request.headers['content-length'] ?? Number.POSITIVE_INFINITY);
  if (request.readableFlowing === null && announced > DROPPED_BYTES) {
    dropBody(request);
  }
}

/**
 * Reads and discards the rest of a body. Unread, it would block the connection for the next request: Node drops only bodies that nobody
 * began to read, and those as fast as they arrive. The server's request timeout limits how long this takes.
 */
function dropBody(request: IncomingMessage): void {
  let [bytes, untilPause] = [0, DROPPED_BYTES];
  const resume = (): void => void request.resume();
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    untilPause -= chunk.length;
    if (untilPause <= 0) {
      untilPause = DROPPED_BYTES;
      request.pause();
      if (bytes < DROPPED_AT_ONCE_BYTES) {
        setImmediate(resume);
      } else {
        setTimeout(resume, DROP_EVERY_MS);
      }
    }
  });
  request.resume();
}

/** Stops a reading whose bytes arrive slower than the minimum rate or that takes longer than the maximum time. */
function watchRate(received: () => number, stop: (error: AppError) => void): NodeJS.Timeout {
  const startedAt = performance.now();
  const timer = setInterval(() => {
    const elapsedMs = performance.now() - startedAt;
    const isSlow = received() < (elapsedMs - FLOOR_GRACE_MS) * FLOOR_BYTES_PER_MS;
    if (isSlow || elapsedMs > PATIENCE_MS_MAX) {
      stop(new AppError('invalid_request', 'the request took too long to arrive', { status: 408 }));
    }
  }, LOOK_EVERY_MS);
  return timer.unref();
}

function tooLarge(bytesMax: number): AppError {
  return new AppError('payload_too_large', `the body is larger than ${bytesMax} bytes`);
}

/** Throws AppError unsupported_media_type unless the request declares JSON in UTF-8. */
export function requireJson(contentType: string | undefined): void {
  const [type = '', ...parameters] = (contentType ?? '').toLowerCase().split(';');
  const charset = parameters.map((text) => text.trim()).find((text) => text.startsWith('charset='));
  const isUtf8 = charset === undefined || /^charset="?utf-?8"?$/.test(charset);
  if (!JSON_TYPE.test(type.trim()) || !isUtf8) {
    throw new AppError('unsupported_media_type', 'the Content-Type must be application/json in UTF-8');
  }
}

/** Throws AppError invalid_request when a request that needs a body came without one. */
export function requireSomeBody(request: IncomingMessage): void {
  if (!hasBody(request)) {
    throw new AppError('invalid_request', 'a JSON body is required');
  }
}

export function hasBody({ headers }: IncomingMessage): boolean {
  const length = headers['content-length'];
  return headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0');
}
