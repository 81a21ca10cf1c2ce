import type { Request, RequestHandler } from 'express';
import { Router } from 'express';
import { z } from 'zod';
import { sendJson } from '../http/answers/send.ts';
import { readJson, requireJson } from '../http/input/request-body.ts';
import { allowSlowBody } from '../http/input/slow-body.ts';
import { validate } from '../http/input/validate.ts';
import { AppError } from '../lib/errors.ts';
import { receiveUpload, type UploadContext } from '../media/receive-upload.ts';
import type { UploadSigner } from '../media/signed-upload.ts';
import type { GrantUpload, Storage } from '../media/storage.types.ts';
import { mediaTypeOfKey } from '../media/storage-key.ts';
import { isUploadKey, uploadBytesMax } from '../media/upload-limits.ts';
import type { StorageTokenGuard } from './storage-token-guard.ts';

export interface WorkerStorageOptions {
  readonly storage: Storage;
  readonly guard: StorageTokenGuard;
  readonly grantUpload: GrantUpload;
  /** Base of the URLs that the storage signs, if they are our own. Workers then read from the address at which they reach us. */
  readonly publicUrl: string;
}

const BODY_BYTES_MAX = 4_096;
const TTL_SECONDS_DEFAULT = 900;

const uploadBody = z.strictObject({
  key: z.string().refine(isUploadKey, 'must be a storage key below raw/ or acct/'),
  bytes: z.int().min(0),
  sha256: z.string().regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 in lowercase hex'),
});
const objectQuery = z.strictObject({
  ttl_seconds: z.coerce
    .number()
    .int()
    .min(1)
    .max(7 * 86_400)
    .default(TTL_SECONDS_DEFAULT),
  download_name: z
    .string()
    .regex(
      /^[A-Za-z0-9][A-Za-z0-9 ._-]{0,99}$/,
      'must contain only letters, digits, spaces, dots, underscores and dashes',
    )
    .optional(),
});

/**
 * `/internal/v1`: the storage of this installation, for workers on hosts that have neither its folder nor the bucket's credentials. Not
 * part of the public API, so it is not in its description.
 */
export function workerStoragePage(options: WorkerStorageOptions): RequestHandler {
  const { storage, guard } = options;
  const router = Router({ caseSensitive: true, strict: true });
  router.use((request, _response, next) => {
    guard.admit(request.headers, request.ip ?? '');
    next();
  });
  router.post('/uploads', async (request, response) => {
    requireJson(request.headers['content-type']);
    const sent = await readJson(request, BODY_BYTES_MAX);
    const { key, bytes, sha256 } = validate(uploadBody, sent, 'body');
    const mediaType = mediaTypeOfKey(key) ?? '';
    if (bytes > uploadBytesMax(key)) {
      throw new AppError('payload_too_large', `this file may have at most ${uploadBytesMax(key)} bytes`);
    }
    const grant = await options.grantUpload({ key, mediaType, bytes, sha256 });
    sendJson(response, 201, {
      data: {
        method: 'PUT',
        url: grant.url,
        headers: grant.headers,
        expires_at: new Date(grant.expiresAt).toISOString(),
      },
    });
  });
  router.get('/objects/*key', async (request, response) => {
    const key = keyOf(request);
    const query = validate(objectQuery, { ...request.query }, 'query');
    const object = await storage.stat(key);
    if (!object) {
      throw new AppError('media_not_found', 'There is no such file.');
    }
    const url = await storage.signedUrl(key, {
      ttlSeconds: query.ttl_seconds,
      ...(query.download_name === undefined ? {} : { downloadName: query.download_name }),
    });
    const own = url.startsWith(`${options.publicUrl}/`);
    const path = own ? url.slice(options.publicUrl.length) : null;
    sendJson(response, 200, { data: { key, bytes: object.bytes, media_type: object.mediaType, url, path } });
  });
  router.delete('/objects/*key', async (request, response) => {
    await storage.delete(keyOf(request));
    sendJson(response, 200, { data: { deleted: true } });
  });
  return router;
}

/** `/media-upload/…`: accepts the file that a signed URL was made for, once. */
export function mediaUploadPage(signer: UploadSigner, door: UploadContext): RequestHandler {
  const router = Router({ caseSensitive: true, strict: true });
  router.put('/*key', async (request, response) => {
    // A rejected client that keeps sending must not keep the connection open.
    response.setHeader('Connection', 'close');
    const upload = signer.verify(joined(request.params.key), { ...request.query });
    const announced = request.headers['content-length'];
    if (announced !== undefined && Number(announced) !== upload.bytes) {
      throw new AppError('invalid_request', 'the upload does not have the signed size');
    }
    const stored = await allowSlowBody(request, () => receiveUpload(request, upload, door));
    sendJson(response, 201, { data: { key: stored.key, bytes: stored.bytes } });
  });
  return router;
}

function keyOf(request: Request): string {
  const key = joined(request.params.key);
  if (!isUploadKey(key)) {
    throw new AppError('media_not_found', 'There is no such file.');
  }
  return key;
}

function joined(segments: string | string[] | undefined): string {
  return Array.isArray(segments) ? segments.join('/') : (segments ?? '');
}
