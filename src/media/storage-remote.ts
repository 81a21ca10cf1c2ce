import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { invariant } from '../lib/errors.ts';
import type { FileContent } from '../lib/file-content.ts';
import { saveObject } from './digest-stream.ts';
import { digestFile } from './file-digest.ts';
import { REMOTE_CLOCKS, RemoteApi, type RemoteClocks, retrying } from './remote-api.ts';
import { requireSignable } from './signed-url.ts';
import type { ByteRange, SignOptions, Storage, StoredObject } from './storage.types.ts';
import { mediaNotFound } from './storage-error.ts';
import { mediaTypeOfKey } from './storage-key.ts';
import { isUploadKey } from './upload-limits.ts';

export interface RemoteStorageOptions {
  /** Address of the API as seen from this host, without a trailing slash. */
  readonly url: string;
  readonly token: string;
  readonly clocks?: RemoteClocks;
}

/** Statuses for an upload whose grant has expired, at S3 and at the API. A new grant may work. */
const ASK_AGAIN = [403, 410];

/**
 * Storage for a worker on a host that shares no disk or credentials with the API. It requests upload grants and signed read URLs from the
 * API. Bytes go to the API or, if the API stores them in S3, directly to the bucket.
 */
export class RemoteStorage implements Storage {
  readonly #api: RemoteApi;

  constructor({ url, token, clocks = REMOTE_CLOCKS }: RemoteStorageOptions) {
    this.#api = new RemoteApi(url, token, clocks);
  }

  async putFile(key: string, content: FileContent, mediaType: string): Promise<StoredObject> {
    invariant(isUploadKey(key), 'remote storage stores only raw output and finished files');
    invariant(mediaTypeOfKey(key) === mediaType, 'the media type of an object is that of its key');
    const { bytes, sha256 } = await digestFile(content);
    await retrying(async () => {
      const { url, headers } = await this.#api.grantUpload({ key, bytes, sha256 });
      const { body } = await this.#api.send({
        method: 'PUT',
        url,
        headers: { ...headers, 'content-length': String(bytes) },
        body: () => (typeof content === 'string' ? createReadStream(content) : content),
      });
      await body.dump();
    }, ASK_AGAIN);
    return { key, bytes, mediaType };
  }

  async stat(key: string): Promise<StoredObject | undefined> {
    if (!isUploadKey(key)) {
      return undefined;
    }
    try {
      const { bytes, mediaType } = await this.#api.describe(key);
      return { key, bytes, mediaType };
    } catch (error) {
      if (isNotFound(error)) {
        return undefined;
      }
      throw error;
    }
  }

  async read(key: string, range?: ByteRange): Promise<Readable> {
    return (await this.#open(key, range)).body;
  }

  async getFile(key: string, path: string): Promise<void> {
    const { body, bytes } = await this.#open(key);
    await saveObject(body, path, { bytes });
  }

  async signedUrl(key: string, options: SignOptions): Promise<string> {
    requireSignable(key, options);
    const { ttlSeconds, downloadName } = options;
    const query = { ttl_seconds: String(Math.floor(ttlSeconds)) };
    const named = downloadName === undefined ? query : { ...query, download_name: downloadName };
    return (await this.#api.describe(key, named)).url;
  }

  async delete(key: string): Promise<void> {
    if (isUploadKey(key)) {
      await this.#api.remove(key);
    }
  }

  // The API lists the objects.
  async *list(): AsyncGenerator<never> {}

  async close(): Promise<void> {
    await this.#api.close();
  }

  async #open(key: string, range?: ByteRange): Promise<{ body: Readable; bytes: number }> {
    if (!isUploadKey(key)) {
      throw mediaNotFound();
    }
    return await retrying(async () => {
      const { url, path, bytes } = await this.#api.describe(key);
      const headers: Record<string, string> = range ? { range: `bytes=${range.start}-${range.end}` } : {};
      const { body } = await this.#api.send({ method: 'GET', url: path ?? url, headers });
      return { body, bytes };
    });
  }
}

function isNotFound(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'media_not_found';
}
