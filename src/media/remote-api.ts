import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { CallTimeouts } from '../upstream/call-timeouts.ts';
import { decodedBody, UNCODED } from '../upstream/decoded-body.ts';
import { type HttpAnswer, type HttpCall, HttpClient } from '../upstream/http-client.ts';
import { readBody, textOf } from '../upstream/read-body.ts';
import { transportErrorOf } from '../upstream/transport-error.ts';
import type { UploadGrant } from './storage.types.ts';
import { mediaNotFound, StorageError } from './storage-error.ts';

export interface RemoteClocks {
  /** Ms to connect, including TLS. */
  readonly connectMs: number;
  /** Ms from the end of a request to the response headers. */
  readonly answerMs: number;
  /** Ms between two chunks of a response. */
  readonly idleMs: number;
  /** Maximum duration of a call or upload, in ms. */
  readonly totalMs: number;
}

export const REMOTE_CLOCKS: RemoteClocks = {
  connectMs: 5_000,
  answerMs: 60_000,
  idleMs: 30_000,
  totalMs: 1_800_000,
};

export interface RemoteCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** A path of the API, or the absolute URL of another store. */
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Creates a new body for each attempt. */
  readonly body?: () => HttpCall['body'];
}

/** The API's description of an object. */
export interface RemoteObject {
  readonly bytes: number;
  readonly mediaType: string;
  /** The URL that works for anyone. */
  readonly url: string;
  /** The path of that URL below the API's own address; null when the object is elsewhere. */
  readonly path: string | null;
}

const ATTEMPTS_MAX = 3;
const BACKOFF_MS = 250;
const CONNECTIONS_MAX = 20;
const ANSWER_BYTES_MAX = 65_536;

const grantAnswer = z.object({
  data: z.object({
    url: z.string(),
    headers: z.record(z.string(), z.string()),
    expires_at: z.iso.datetime(),
  }),
});
const objectAnswer = z.object({
  data: z.object({
    bytes: z.number(),
    media_type: z.string(),
    url: z.string(),
    path: z.string().nullable(),
  }),
});

/** HTTP client for the API that has the storage. Owns its connections. */
export class RemoteApi {
  readonly #base: string;
  readonly #token: string;
  readonly #clocks: RemoteClocks;
  readonly #http: HttpClient;

  constructor(base: string, token: string, clocks: RemoteClocks) {
    this.#base = base;
    this.#token = token;
    this.#clocks = clocks;
    const { connectMs, answerMs, idleMs } = clocks;
    this.#http = new HttpClient({ connections: CONNECTIONS_MAX, connectMs, answerMs, idleMs });
  }

  /** Requests a grant to upload one file. Throws StorageError. */
  async grantUpload(file: { key: string; bytes: number; sha256: string }): Promise<UploadGrant> {
    const answer = await this.#json({
      method: 'POST',
      url: '/internal/v1/uploads',
      headers: { 'content-type': 'application/json' },
      body: () => JSON.stringify(file),
    });
    const { url, headers, expires_at } = parse(grantAnswer, answer).data;
    return { url, headers, expiresAt: Date.parse(expires_at) };
  }

  /** Returns the properties and URLs of an object. Throws AppError media_not_found, StorageError. */
  async describe(key: string, query: Readonly<Record<string, string>> = {}): Promise<RemoteObject> {
    const search = new URLSearchParams(query).toString();
    const url = `/internal/v1/objects/${key}${search === '' ? '' : `?${search}`}`;
    const {
      bytes,
      media_type,
      url: shared,
      path,
    } = parse(objectAnswer, await this.#json({ method: 'GET', url })).data;
    return { bytes, mediaType: media_type, url: shared, path };
  }

  /** Deletes an object. A missing one is not an error. Throws StorageError. */
  async remove(key: string): Promise<void> {
    await this.#json({ method: 'DELETE', url: `/internal/v1/objects/${key}` });
  }

  /**
   * Sends a request once, with the signature in its URL or headers. The caller reads the body. Throws StorageError for anything but 2xx,
   * AppError media_not_found for 404.
   */
  async send(call: RemoteCall): Promise<HttpAnswer> {
    const own = call.url.startsWith('/');
    const { origin, pathname, search } = new URL(own ? `${this.#base}${call.url}` : call.url);
    const { method, body = () => null } = call;
    const headers = { ...UNCODED, ...call.headers };
    const clocks = new CallTimeouts(this.#clocks.totalMs);
    const request = { origin, path: pathname + search, method, headers, body: body() };
    const answer = await this.#http.request(request, clocks).catch((error: unknown) => {
      clocks.stop();
      throw toStorageError(error);
    });
    answer.body.once('close', () => clocks.stop());
    if (answer.statusCode >= 200 && answer.statusCode < 300) {
      return answer;
    }
    await answer.body.dump({ limit: ANSWER_BYTES_MAX }).catch(() => undefined);
    if (answer.statusCode === 404) {
      throw mediaNotFound();
    }
    throw new StorageError(`the storage responded with ${answer.statusCode}`, { status: answer.statusCode });
  }

  /** Closes the connections. Calls in flight fail. */
  async close(): Promise<void> {
    await this.#http.close();
  }

  async #json(call: RemoteCall): Promise<unknown> {
    const headers = { ...call.headers, authorization: `Bearer ${this.#token}` };
    return await retrying(async () => {
      const answer = await this.send({ ...call, headers });
      const bytes = await readBody(decodedBody(answer), ANSWER_BYTES_MAX).catch((error: unknown) => {
        throw toStorageError(error);
      });
      return JSON.parse(textOf(bytes)) as unknown;
    });
  }
}

function toStorageError(error: unknown): StorageError {
  const { reason, code } = transportErrorOf(error);
  return reason === 'too_long'
    ? new StorageError('the storage returned a response that is too long')
    : new StorageError(`the storage did not respond (${code || reason})`);
}

/** Makes up to three attempts with backoff, while a retry can help: no response, 429, 5xx, and the statuses in `again`. */
export async function retrying<T>(work: () => Promise<T>, again: readonly number[] = []): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      const status = error instanceof StorageError ? error.status : 0;
      const hopeful = status === undefined || status === 429 || status >= 500 || again.includes(status);
      if (!hopeful || attempt >= ATTEMPTS_MAX) {
        throw error;
      }
    }
    await delay(BACKOFF_MS * 2 ** (attempt - 1) * (0.5 + Math.random()));
  }
}

function parse<T>(schema: z.ZodType<T>, answer: unknown): T {
  const parsed = schema.safeParse(answer);
  if (!parsed.success) {
    throw new StorageError('the storage returned a malformed response');
  }
  return parsed.data;
}
