import { createHash } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import { type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { FileDigest } from './file-digest.ts';
import { StorageError } from './storage-error.ts';

/** Passes bytes through and computes their size and SHA-256. Fails with `tooLarge()` beyond `bytesMax`. */
export function digestStream(
  bytesMax: number,
  tooLarge: () => Error,
): { stream: Transform; digest: () => FileDigest } {
  const hash = createHash('sha256');
  let bytes = 0;
  const stream = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      if (bytes > bytesMax) {
        done(tooLarge());
        return;
      }
      hash.update(chunk);
      done(null, chunk);
    },
  });
  return { stream, digest: () => ({ bytes, sha256: hash.digest('hex') }) };
}

/** What a storage says about an object that it sends. */
export interface Announced {
  readonly bytes: number;
  /** Lowercase hex of the object's hash; undefined when the storage does not know it. */
  readonly sha256?: string | undefined;
}

/**
 * Writes the bytes of an object to a new file. Removes the file when they did not all arrive, so that the object can be fetched again.
 * Throws StorageError when the connection breaks off or the bytes are not those announced, and the errors of the local disk as they are.
 */
export async function saveObject(body: Readable, path: string, announced: Announced): Promise<void> {
  const tooLong = () => new StorageError('an object is longer than declared');
  const { stream, digest } = digestStream(announced.bytes, tooLong);
  const file = await open(path, 'wx').catch((error: unknown) => {
    body.destroy();
    throw error;
  });
  try {
    await pipeline(arriving(body), stream, file.createWriteStream());
    requireAnnounced(digest(), announced);
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  }
}

/** A connection that ends halfway is an outage of the storage; without this its error would look like one of the local disk. */
async function* arriving(body: Readable): AsyncGenerator<Buffer, void> {
  try {
    yield* body as AsyncIterable<Buffer>;
  } catch (cause) {
    const { code, name } = cause as NodeJS.ErrnoException;
    throw new StorageError(`the storage broke off while it sent an object (${code ?? name})`, { cause });
  }
}

function requireAnnounced(arrived: FileDigest, { bytes, sha256 }: Announced): void {
  const isShort = Number.isFinite(bytes) && arrived.bytes !== bytes;
  if (isShort || (sha256 !== undefined && sha256 !== arrived.sha256)) {
    throw new StorageError('an object arrived with different bytes than were stored');
  }
}
