import type { Readable } from 'node:stream';
import {
  DeleteObjectCommand,
  GetBucketVersioningCommand,
  GetObjectCommand,
  type GetObjectCommandOutput,
  HeadBucketCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  type S3Client,
} from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import type { Clock } from '../lib/clock.ts';
import { invariant } from '../lib/errors.ts';
import type { FileContent } from '../lib/file-content.ts';
import { saveObject } from './digest-stream.ts';
import {
  createS3Client,
  isMissing,
  S3_CLOCKS,
  type S3Clocks,
  type S3Location,
  toStorageError,
} from './s3-client.ts';
import { createS3Granter } from './s3-grant.ts';
import { putS3File, SHA256_METADATA } from './s3-put.ts';
import { requireSignable } from './signed-url.ts';
import type {
  ByteRange,
  GrantUpload,
  ListedObject,
  SignOptions,
  Storage,
  StoredObject,
} from './storage.types.ts';
import { mediaNotFound, StorageError } from './storage-error.ts';
import { isStorageKey, mediaTypeOfKey } from './storage-key.ts';

export interface S3StorageOptions {
  readonly location: S3Location;
  readonly clock: Clock;
  readonly clocks?: S3Clocks;
  /** Maximum bytes of one request. Larger files are sent in parts. At least 5 MiB, the store's own minimum. */
  readonly partBytes?: number;
}

const PART_BYTES = 8 * 1024 * 1024;

type S3Object = GetObjectCommandOutput & { readonly Body: Readable };

/**
 * Storage in an S3 bucket, for any number of hosts: Amazon's or any store that supports its protocol with SigV4. Opens no connection before
 * its first use.
 */
export class S3Storage implements Storage {
  readonly grantUpload: GrantUpload;
  readonly #client: S3Client;
  readonly #location: S3Location;
  readonly #clock: Clock;
  readonly #partBytes: number;

  constructor({ location, clock, clocks = S3_CLOCKS, partBytes = PART_BYTES }: S3StorageOptions) {
    this.#client = createS3Client(location, clocks);
    this.#location = location;
    this.#clock = clock;
    this.#partBytes = partBytes;
    this.grantUpload = createS3Granter(this.#client, (key) => this.#target(key), clock);
  }

  /**
   * Returns whether the bucket keeps deleted objects as older versions. Throws StorageError, also when the credentials do not permit this
   * check.
   */
  async keepsVersions(): Promise<boolean> {
    const { bucket } = this.#location;
    const ask = new GetBucketVersioningCommand({ Bucket: bucket });
    const { Status: status } = await this.#client.send(ask).catch((error: unknown) => {
      throw toStorageError("a check of the bucket's versioning", error);
    });
    return status === 'Enabled';
  }

  /** Checks that the bucket exists. Throws StorageError with status 404 when it does not, 403 when the credentials have no access. */
  async checkBucket(): Promise<void> {
    const { bucket } = this.#location;
    await this.#client.send(new HeadBucketCommand({ Bucket: bucket })).catch((error: unknown) => {
      throw toStorageError('a check of the bucket', error);
    });
  }

  async putFile(key: string, content: FileContent, mediaType: string): Promise<StoredObject> {
    invariant(isStorageKey(key), 'a storage key is made by storageKey()');
    invariant(mediaTypeOfKey(key) === mediaType, 'the media type of an object is that of its key');
    try {
      const bytes = await putS3File(this.#client, this.#target(key), { content, mediaType }, this.#partBytes);
      return { key, bytes, mediaType };
    } catch (error) {
      throw isOfTheFile(error) ? error : toStorageError('a write', error);
    }
  }

  async stat(key: string): Promise<StoredObject | undefined> {
    const mediaType = mediaTypeOfKey(key);
    if (!isStorageKey(key) || mediaType === undefined) {
      return undefined;
    }
    try {
      const { ContentLength = 0 } = await this.#client.send(new HeadObjectCommand(this.#target(key)));
      return { key, bytes: ContentLength, mediaType };
    } catch (error) {
      if (isMissing(error)) {
        await this.checkBucket();
        return undefined;
      }
      throw toStorageError('a metadata read', error);
    }
  }

  async read(key: string, range?: ByteRange): Promise<Readable> {
    return (await this.#get(key, range)).Body;
  }

  /** Like Storage.getFile; also throws StorageError when the bytes differ from those stored. */
  async getFile(key: string, path: string): Promise<void> {
    const { Body, Metadata, ContentLength = Number.POSITIVE_INFINITY } = await this.#get(key);
    await saveObject(Body, path, { bytes: ContentLength, sha256: Metadata?.[SHA256_METADATA] });
  }

  async signedUrl(key: string, options: SignOptions): Promise<string> {
    requireSignable(key, options);
    const { ttlSeconds, downloadName } = options;
    const command = new GetObjectCommand({
      ...this.#target(key),
      ResponseContentType: mediaTypeOfKey(key),
      ResponseContentDisposition: downloadName ? `attachment; filename="${downloadName}"` : 'inline',
      ResponseCacheControl: `private, max-age=${Math.floor(ttlSeconds)}, immutable`,
    });
    const signingDate = new Date(this.#clock.now());
    return await getSignedUrl(this.#client, command, { expiresIn: Math.floor(ttlSeconds), signingDate });
  }

  async delete(key: string): Promise<void> {
    if (!isStorageKey(key)) {
      return;
    }
    await this.#client.send(new DeleteObjectCommand(this.#target(key))).catch((error: unknown) => {
      if (!isMissing(error)) {
        throw toStorageError('a delete', error);
      }
    });
  }

  async *list(prefix: string, after?: string): AsyncGenerator<ListedObject> {
    const { bucket, prefix: own } = this.#location;
    let from = after === undefined ? undefined : own + after;
    for (;;) {
      const command = new ListObjectsV2Command({ Bucket: bucket, Prefix: own + prefix, StartAfter: from });
      const { Contents = [], IsTruncated } = await this.#client.send(command).catch((error: unknown) => {
        throw toStorageError('a listing', error);
      });
      for (const { Key, LastModified } of Contents) {
        if (Key !== undefined && LastModified !== undefined) {
          yield { key: Key.slice(own.length), storedAtMs: LastModified.getTime() };
        }
      }
      from = Contents.at(-1)?.Key;
      if (!IsTruncated || from === undefined) {
        return;
      }
    }
  }

  async close(): Promise<void> {
    this.#client.destroy();
  }

  #target(key: string): { Bucket: string; Key: string } {
    return { Bucket: this.#location.bucket, Key: `${this.#location.prefix}${key}` };
  }

  async #get(key: string, range?: ByteRange): Promise<S3Object> {
    if (!isStorageKey(key)) {
      throw mediaNotFound();
    }
    const Range = range && `bytes=${range.start}-${range.end}`;
    try {
      return (await this.#client.send(new GetObjectCommand({ ...this.#target(key), Range }))) as S3Object;
    } catch (error) {
      throw isMissing(error) ? mediaNotFound() : toStorageError('a read', error);
    }
  }
}

/** Returns whether reading the local file failed, which is not the store's fault. */
function isOfTheFile(error: unknown): boolean {
  return (
    error instanceof StorageError ||
    (error instanceof Error && 'syscall' in error && error.syscall === 'open')
  );
}
