import { type Config, ConfigError } from '../config/config.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { FOLDER_MODE } from '../media/place-files.worker.ts';
import { createUploadSigner, type UploadSigner } from '../media/signed-upload.ts';
import { createUrlSigner, type UrlSigner } from '../media/signed-url.ts';
import type { GrantUpload, Storage } from '../media/storage.types.ts';
import { StorageError } from '../media/storage-error.ts';
import { createFileStorage } from '../media/storage-fs.ts';
import { RemoteStorage } from '../media/storage-remote.ts';
import type { S3Storage } from '../media/storage-s3.ts';
import { deriveStorageToken } from '../media/storage-token.ts';
import { mediaFolderOf, prepareFolder } from './data-folder.ts';

/** The media storage and the signers of its URLs. */
export interface StorageParts {
  readonly storage: Storage;
  /** Throws StorageError when the storage cannot be used now. Remote storage is checked by the API that it is at. */
  readonly checkStorage: () => Promise<void>;
  readonly signer: UrlSigner;
  /** Signs and verifies uploads that go through the API itself. */
  readonly uploads: UploadSigner;
  /** Grants uploads to workers on other hosts; undefined if this process itself is such a worker. */
  readonly grantUpload: GrantUpload | undefined;
}

/**
 * Opens the configured storage. Throws ConfigError for a bucket that does not exist or rejects the credentials, for an untrusted
 * certificate, for an API with remote storage, and for a folder that cannot be used; UnavailableError if the disk is full.
 */
export async function composeStorage(
  config: Config,
  process: 'api' | 'worker',
  { clock, log }: { clock: Clock; log: Logger },
): Promise<StorageParts> {
  const { publicUrl, secret, previousSecrets } = config;
  const signer = createUrlSigner({ publicUrl, secret, previousSecrets, clock });
  const uploads = createUploadSigner(secret, clock, previousSecrets);
  const choice = config.storage;
  switch (choice.kind) {
    case 'fs': {
      const root = mediaFolderOf(config);
      await prepareFolder(root, FOLDER_MODE);
      const storage = await createFileStorage({ root, sign: signer.sign });
      return {
        storage,
        checkStorage: storage.checkFolder,
        signer,
        uploads,
        grantUpload: uploads.grantUpload,
      };
    }
    case 's3': {
      // loaded only where it is configured: the client takes long to load
      const { S3Storage } = await import('../media/storage-s3.ts');
      const storage = new S3Storage({ location: choice.s3, clock });
      await storage.checkBucket().catch((error: unknown) => judgeBucket(error, choice.s3, log));
      await warnOfVersions(storage, choice.s3.bucket, log);
      return {
        storage,
        checkStorage: () => storage.checkBucket(),
        signer,
        uploads,
        grantUpload: storage.grantUpload,
      };
    }
    case 'remote': {
      if (process === 'api') {
        throw new ConfigError(
          'STORAGE is remote, but this is the API that remote storage uses: set STORAGE to fs or s3 here',
        );
      }
      const storage = new RemoteStorage({ url: choice.url, token: storageToken(config) });
      return { storage, checkStorage: async () => undefined, signer, uploads, grantUpload: undefined };
    }
  }
}

/** Returns the token that workers with remote storage send to the API. */
function storageToken({ storageToken: configured, secret }: Config): string {
  return configured ?? deriveStorageToken(secret);
}

/** Returns the tokens that the API accepts from workers. Tokens from previous secrets count: workers may not have the new secret yet. */
export function acceptedStorageTokens(config: Config): string[] {
  const previous = config.storageToken === undefined ? config.previousSecrets.map(deriveStorageToken) : [];
  return [storageToken(config), ...previous];
}

/** Warns if the bucket keeps versions, because deleted media must be gone. Ignores stores that do not support the question. */
async function warnOfVersions(storage: S3Storage, bucket: string, log: Logger): Promise<void> {
  const keeps = await storage.keepsVersions().catch((error: unknown) => {
    log.debug({ error, bucket }, 'could not find out whether the bucket keeps versions');
    return false;
  });
  if (keeps) {
    log.warn(
      { bucket },
      'the bucket keeps versions, so deleted media still costs money: expire noncurrent versions with a lifecycle rule',
    );
  }
}

/** Statuses of a store that cannot answer now: too slow, or asked too often, as by many processes that start at once. */
const BUSY: ReadonlySet<number> = new Set([408, 429]);

/** Throws ConfigError for a wrong setting. Only warns if the store is unavailable: everything but media works without it. */
function judgeBucket(
  error: unknown,
  { bucket, endpoint }: { bucket: string; endpoint: string },
  log: Logger,
): void {
  const { status, tlsRefusal } = error instanceof StorageError ? error : {};
  if (tlsRefusal !== undefined) {
    throw new ConfigError(`S3_ENDPOINT: the TLS connection is refused ${tlsRefusal}`);
  }
  if (status === 404) {
    throw new ConfigError(`S3_BUCKET: there is no bucket ${bucket} at ${endpoint}`);
  }
  if (status === 403) {
    throw new ConfigError(`S3_ACCESS_KEY_ID: ${endpoint} refuses these credentials for the bucket ${bucket}`);
  }
  if (status !== undefined && status >= 300 && status < 500 && !BUSY.has(status)) {
    throw new ConfigError(`S3_ENDPOINT or S3_REGION: ${endpoint} answers ${status} for the bucket ${bucket}`);
  }
  log.warn({ error, endpoint, bucket }, 'the S3 store cannot be reached');
}
