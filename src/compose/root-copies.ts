import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Config } from '../config/config.ts';
import { ConfigError } from '../config/config-error.ts';
import type { S3Settings } from '../config/storage-settings.ts';
import type { RootCopy } from '../ledger/book-roots.ts';
import { AppError } from '../lib/errors.ts';

const TIMEOUT_MS = 30_000;
/** Size of a multipart upload's parts, in bytes. The file for a hundred thousand accounts has ten million bytes. */
const PART_BYTES = 16 << 20;
const MEDIA_TYPE = 'text/plain; charset=utf-8';

/** Returns the copiers for the files of the books' roots. Throws ConfigError for a copy configured without the folder or the store. */
export function rootCopies({
  bookRootsFolder,
  bookRootsBucket,
  bookRootsWebhook,
  storage,
}: Pick<Config, 'bookRootsFolder' | 'bookRootsBucket' | 'bookRootsWebhook' | 'storage'>): RootCopy[] {
  const copies: RootCopy[] = [];
  if (bookRootsBucket !== null) {
    if (storage.kind !== 's3') {
      throw new ConfigError('BOOKS_ROOTS_BUCKET: needs the store at S3_ENDPOINT: set S3_* too');
    }
    copies.push(bucketCopy({ ...storage.s3, bucket: bookRootsBucket }));
  }
  if (bookRootsWebhook !== null) {
    copies.push(webhookCopy(bookRootsWebhook));
  }
  if (copies.length > 0 && bookRootsFolder === null) {
    throw new ConfigError('BOOKS_ROOTS_DIR is not set: the copies are made from the files in that folder');
  }
  return copies;
}

/** Puts each file into the bucket as `YYYY-MM-DD.txt`, under the configured prefix. */
function bucketCopy(location: S3Settings): RootCopy {
  return async (name, path) => {
    // loaded only where it is configured: the client takes long to load
    const [{ createS3Client, S3_CLOCKS, toStorageError }, { putS3File }] = await Promise.all([
      import('../media/s3-client.ts'),
      import('../media/s3-put.ts'),
    ]);
    const client = createS3Client(location, S3_CLOCKS);
    const target = { Bucket: location.bucket, Key: `${location.prefix}${name}` };
    try {
      await putS3File(client, target, { content: path, mediaType: MEDIA_TYPE }, PART_BYTES);
    } catch (error) {
      throw toStorageError('put the root of the books', error);
    } finally {
      client.destroy();
    }
  };
}

/** Posts each file to the operator's URL. */
function webhookCopy(url: string): RootCopy {
  return async (name, path) => {
    const body = await readFile(path);
    const digest = createHash('sha256').update(body).digest('base64');
    const headers = {
      'content-type': MEDIA_TYPE,
      'content-disposition': `attachment; filename="${name}"`,
      'repr-digest': `sha-256=:${digest}:`,
    };
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const response = await fetch(url, { method: 'POST', headers, body, redirect: 'error', signal });
    await response.body?.cancel();
    if (!response.ok) {
      throw new AppError('service_unavailable', `BOOKS_ROOTS_WEBHOOK answered ${response.status}.`);
    }
  };
}
