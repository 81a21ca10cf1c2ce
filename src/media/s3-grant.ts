import { PutObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import type { Clock } from '../lib/clock.ts';
import { SHA256_METADATA } from './s3-put.ts';
import type { GrantUpload, UploadRequest } from './storage.types.ts';
import { StorageError } from './storage-error.ts';

/** Maximum age of a signature in the Authorization header, as defined by the protocol (SigV4). */
const SIGNATURE_TTL_MS = 15 * 60_000;
const CONTENT_HASH = 'x-amz-content-sha256';

interface SignedRequest {
  readonly protocol: string;
  readonly path: string;
  readonly query: Record<string, unknown>;
  readonly headers: Record<string, string>;
}

/**
 * Signs PUTs for hosts without credentials. The signature is in the headers rather than in the URL, because only there does it cover the
 * hash of the body: every S3 store then verifies the bytes itself, while presigned URLs leave them unsigned.
 */
export function createS3Granter(
  client: S3Client,
  target: (key: string) => { Bucket: string; Key: string },
  clock: Clock,
): GrantUpload {
  return async (request) => {
    const signed = await sign(client, target(request.key), request);
    const { host = '', 'content-length': _length, 'user-agent': _agent, ...headers } = signed.headers;
    return {
      url: `${signed.protocol}//${host}${signed.path}`,
      headers,
      expiresAt: clock.now() + SIGNATURE_TTL_MS,
    };
  };
}

async function sign(
  client: S3Client,
  target: { Bucket: string; Key: string },
  { mediaType, bytes, sha256 }: UploadRequest,
): Promise<SignedRequest> {
  const command = new PutObjectCommand({
    ...target,
    ContentType: mediaType,
    ContentLength: bytes,
    Metadata: { [SHA256_METADATA]: sha256 },
  });
  let signed: SignedRequest | undefined;
  command.middlewareStack.add(
    (next) => (args) => {
      const request = args.request as SignedRequest;
      request.headers[CONTENT_HASH] = sha256;
      // The SDK adds the name of the operation for Amazon's logs.
      delete request.query['x-id'];
      return next(args);
    },
    { step: 'build', name: 'signContentHash' },
  );
  // Runs last, just before sending, and returns without sending the request.
  command.middlewareStack.add(
    () => async (args) => {
      signed = args.request as SignedRequest;
      return { response: {}, output: { $metadata: {} } };
    },
    { step: 'finalizeRequest', priority: 'low', name: 'keepSignedRequest' },
  );
  await client.send(command);
  if (!signed?.headers.authorization) {
    throw new StorageError('could not sign an upload');
  }
  return signed;
}
