import { S3Client, S3ServiceException } from '@aws-sdk/client-s3';
import { TRUST_OWN_CA, tlsAdvice, tlsRefusal } from '../lib/tls-refusal.ts';
import { StorageError } from './storage-error.ts';

/** The address of a bucket and the credentials for it. */
export interface S3Location {
  readonly endpoint: string;
  readonly region: string;
  readonly bucket: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Whether to use `endpoint/bucket/key` instead of `bucket.endpoint/key`. */
  readonly forcePathStyle: boolean;
  /** A prefix for every key: empty, or ends with a slash. */
  readonly prefix: string;
}

export interface S3Clocks {
  /** Ms to connect, including TLS. */
  readonly connectMs: number;
  /** Ms from the start of a request, including its body, to the response headers. */
  readonly answerMs: number;
  /** Maximum time without a byte on a connection in use, in ms. */
  readonly idleMs: number;
}

export const S3_CLOCKS: S3Clocks = { connectMs: 5_000, answerMs: 120_000, idleMs: 30_000 };
const ATTEMPTS_MAX = 3;
const CONNECTIONS_MAX = 50;
const NOT_FOUND = 404;

/** Creates a client with limited waits and retries. The caller must destroy it. */
export function createS3Client(location: S3Location, clocks: S3Clocks): S3Client {
  return new S3Client({
    endpoint: location.endpoint,
    region: location.region,
    forcePathStyle: location.forcePathStyle,
    credentials: { accessKeyId: location.accessKeyId, secretAccessKey: location.secretAccessKey },
    maxAttempts: ATTEMPTS_MAX,
    // Stores other than Amazon's reject or ignore the newer checksum headers. Every request signs the hash of its body anyway.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: clocks.connectMs,
      requestTimeout: clocks.answerMs,
      socketTimeout: clocks.idleMs,
      throwOnRequestTimeout: true,
      httpAgent: { maxSockets: CONNECTIONS_MAX },
      httpsAgent: { maxSockets: CONNECTIONS_MAX },
    },
  });
}

/**
 * Returns whether the store reports that the object does not exist. A bucket that does not exist is another matter: a store whose disk is
 * not mounted says that of all its buckets. The answer to a HEAD has no body and does not tell the two apart.
 */
export function isMissing(error: unknown): boolean {
  return (
    error instanceof S3ServiceException &&
    error.$metadata.httpStatusCode === NOT_FOUND &&
    error.name !== 'NoSuchBucket'
  );
}

/** Converts an SDK error into a StorageError without the request and its signature. */
export function toStorageError(operation: string, error: unknown): StorageError {
  const name = error instanceof Error ? error.name : 'an unknown error';
  const status = error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined;
  const code = (error as NodeJS.ErrnoException)?.code;
  const detail = status === undefined ? [name, code].filter(Boolean).join(' ') : `${status} ${name}`;
  const refusal = tlsRefusal(error);
  return new StorageError(`${operation} at the S3 store failed: ${detail}`, {
    status,
    tlsRefusal: refusal && `(${refusal}); ${tlsAdvice(error, TRUST_OWN_CA)}`,
  });
}
