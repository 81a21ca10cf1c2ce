import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { AppError } from '../lib/errors.ts';
import { digestStream } from './digest-stream.ts';
import type { VerifiedUpload } from './signed-upload.ts';
import type { Storage, StoredObject } from './storage.types.ts';
import { withTemporaryFolder } from './temporary-folder.ts';
import type { UsedUploads } from './used-uploads.ts';

export interface UploadContext {
  readonly storage: Pick<Storage, 'putFile'>;
  /** Each upload gets its own folder below this one until it is stored. */
  readonly folder: string;
  readonly used: UsedUploads;
  /** Ms without a byte after which an upload is aborted. */
  readonly idleMs: number;
  /** Maximum duration of an upload, in ms. */
  readonly totalMs: number;
}

/**
 * Streams an upload to disk and stores it if its size and hash match the signed ones. Throws AppError idempotency_completed for a grant
 * that was used before, payload_too_large beyond the signed size, invalid_request for other bytes or an interrupted upload.
 */
export async function receiveUpload(
  body: Readable,
  upload: VerifiedUpload,
  door: UploadContext,
): Promise<StoredObject> {
  if (!(await door.used.claim(upload.nonce))) {
    throw new AppError('idempotency_completed', 'this upload grant has already been used; request another');
  }
  try {
    return await withTemporaryFolder(door.folder, 'upload', async (folder) => {
      const path = join(folder, 'body');
      await writeBody(body, path, upload, door);
      return await door.storage.putFile(upload.key, path, upload.mediaType);
    });
  } catch (error) {
    await door.used.release(upload.nonce);
    throw error;
  }
}

async function writeBody(
  body: Readable,
  path: string,
  upload: VerifiedUpload,
  { idleMs, totalMs }: UploadContext,
): Promise<void> {
  const tooLarge = () => new AppError('payload_too_large', `the upload is larger than ${upload.bytes} bytes`);
  const { stream, digest } = digestStream(upload.bytes, tooLarge);
  const idle = new AbortController();
  const timer = setTimeout(() => idle.abort(), idleMs);
  const signal = AbortSignal.any([idle.signal, AbortSignal.timeout(totalMs)]);
  stream.on('data', () => timer.refresh());
  try {
    await pipeline(body, stream, createWriteStream(path, { flags: 'wx' }), { signal });
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code;
    if (signal.aborted || code === 'ECONNRESET' || code === 'ERR_STREAM_PREMATURE_CLOSE') {
      throw new AppError('invalid_request', 'the upload was interrupted', { cause });
    }
    throw cause;
  } finally {
    clearTimeout(timer);
  }
  const { bytes, sha256 } = digest();
  if (bytes !== upload.bytes || sha256 !== upload.sha256) {
    throw new AppError('invalid_request', 'the uploaded file does not match the announced size and hash');
  }
}
