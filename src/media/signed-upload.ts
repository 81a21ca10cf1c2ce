import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../lib/clock.ts';
import { AppError, invariant } from '../lib/errors.ts';
import type { GrantUpload, UploadRequest } from './storage.types.ts';
import { mediaTypeOfKey } from './storage-key.ts';
import { isUploadKey, uploadBytesMax } from './upload-limits.ts';

/** A verified grant to store one file. */
export interface VerifiedUpload extends UploadRequest {
  /** The id of this grant, which is valid for one upload. */
  readonly nonce: string;
}

export interface UploadSigner {
  readonly grantUpload: GrantUpload;
  /** Verifies a grant. Throws AppError signature_invalid, or media_expired when the signature is valid but too old. */
  verify(key: string, query: Readonly<Record<string, unknown>>): VerifiedUpload;
}

const TTL_MS = 10 * 60_000;
const NONCE = /^[A-Za-z0-9_-]{22}$/;
const SHA256 = /^[0-9a-f]{64}$/;
const DIGITS = /^\d{1,13}$/;

/**
 * Signs uploads to our own API: `/media-upload/<key>?exp=<Unix ms>&size=<bytes>&sha256=<hex>&nonce=…&sig=…`, HMAC-SHA256 with a key derived
 * for this purpose only, so no media URL can be turned into an upload. A secret must have at least 16 characters. Signatures made with
 * previous secrets are still accepted.
 */
export function createUploadSigner(
  secret: string,
  clock: Clock,
  previousSecrets: readonly string[] = [],
): UploadSigner {
  const keys = [secret, ...previousSecrets].map(deriveKey);
  const signatures = (parts: readonly string[]) =>
    keys.map((key) =>
      createHmac('sha256', key)
        .update(['PUT', ...parts].join('\n'))
        .digest(),
    );

  const grantUpload: GrantUpload = async ({ key, bytes, sha256 }) => {
    const expiresAt = clock.now() + TTL_MS;
    const parts = [
      key,
      String(expiresAt),
      String(bytes),
      sha256,
      randomBytes(16).toString('base64url'),
    ] as const;
    const [, exp, size, , nonce] = parts;
    const sig = signatures(parts)[0]?.toString('base64url') ?? '';
    const query = new URLSearchParams({ exp, size, sha256, nonce, sig });
    return { url: `/media-upload/${key}?${query}`, headers: {}, expiresAt };
  };

  function verify(key: string, query: Readonly<Record<string, unknown>>): VerifiedUpload {
    const [exp, size, sha256, nonce, sig] = ['exp', 'size', 'sha256', 'nonce', 'sig'].map((name) => {
      const value = query[name];
      return typeof value === 'string' ? value : '';
    }) as [string, string, string, string, string];
    const wellFormed = DIGITS.test(exp) && DIGITS.test(size) && SHA256.test(sha256) && NONCE.test(nonce);
    const given = Buffer.from(sig, 'base64url');
    const isRight = signatures([key, exp, size, sha256, nonce]).some(
      (right) => given.length === right.length && timingSafeEqual(given, right),
    );
    const mediaType = mediaTypeOfKey(key);
    if (!wellFormed || !isRight) {
      throw new AppError('signature_invalid', 'The signature of this upload is not valid.');
    }
    if (Number(exp) <= clock.now()) {
      throw new AppError('media_expired', 'The grant for this upload has expired. Request another.');
    }
    invariant(isUploadKey(key) && mediaType !== undefined, 'only upload keys are signed');
    return { key, mediaType, bytes: Math.min(Number(size), uploadBytesMax(key)), sha256, nonce };
  }

  return { grantUpload, verify };
}

function deriveKey(secret: string): Buffer {
  invariant(secret.length >= 16, 'a signing secret has at least 16 characters');
  return Buffer.from(hkdfSync('sha256', secret, '', 'tollgate media upload v1', 32));
}
