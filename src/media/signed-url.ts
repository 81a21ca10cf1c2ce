import { createHash, createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../lib/clock.ts';
import { AppError, invariant } from '../lib/errors.ts';
import type { SignOptions } from './storage.types.ts';
import { isStorageKey } from './storage-key.ts';

export interface UrlSignerOptions {
  /** Origin and optional path prefix under which `/media/…` is served, without a trailing slash. */
  readonly publicUrl: string;
  /** The secret that signs URLs, at least 16 characters. */
  readonly secret: string;
  /** Previous secrets, still accepted until the URLs they signed have expired. */
  readonly previousSecrets?: readonly string[];
  readonly clock: Clock;
}

/** The parts of a request for a signed URL. */
export interface SignedRequest {
  readonly method: string;
  /** The path after `/media/`, percent-decoded. */
  readonly key: string;
  readonly query: Readonly<Record<string, unknown>>;
}

export interface VerifiedUrl {
  readonly key: string;
  /** Unix seconds. */
  readonly expiresAt: number;
  /** File name to offer, if the URL was made for saving. */
  readonly downloadName: string | undefined;
}

export interface UrlSigner {
  /** Returns a URL that gives anyone who has it read access until it expires. */
  sign(key: string, options: SignOptions): string;
  /** Verifies a URL. Throws AppError signature_invalid, or media_expired when the signature is valid but too old. */
  verify(request: SignedRequest): VerifiedUrl;
}

interface SigningKey {
  readonly id: string;
  readonly bytes: Buffer;
}

const TTL_SECONDS_MAX = 7 * 24 * 3600;
const DOWNLOAD_NAME = /^[A-Za-z0-9][A-Za-z0-9 ._-]{0,99}$/;

/**
 * Signs media URLs: `<publicUrl>/media/<key>?exp=<Unix s>&kid=<id>[&dl=<name>]&sig=<base64url>`, HMAC-SHA256 over method, key, expiry and
 * name with a key derived for this purpose only (HKDF, RFC 5869). Several secrets allow rotation.
 */
export function createUrlSigner(options: UrlSignerOptions): UrlSigner {
  const current = deriveKey(options.secret);
  const keys = [current, ...(options.previousSecrets ?? []).map(deriveKey)];

  function sign(key: string, { ttlSeconds, downloadName }: SignOptions): string {
    requireSignable(key, { ttlSeconds, downloadName });
    const expiry = String(Math.floor(options.clock.now() / 1000) + Math.floor(ttlSeconds));
    const query = new URLSearchParams({ exp: expiry, kid: current.id });
    if (downloadName !== undefined) {
      query.set('dl', downloadName);
    }
    query.set('sig', signature(current, key, expiry, downloadName).toString('base64url'));
    return `${options.publicUrl}/media/${key}?${query}`;
  }

  function verify({ method, key, query }: SignedRequest): VerifiedUrl {
    const { exp, kid, sig, dl } = query;
    const signingKey = keys.find((candidate) => candidate.id === kid);
    const textual =
      typeof exp === 'string' && typeof sig === 'string' && (dl === undefined || typeof dl === 'string');
    const read = method === 'GET' || method === 'HEAD';
    if (!signingKey || !textual || !read || !/^\d{1,12}$/.test(exp) || !isStorageKey(key)) {
      throw invalid();
    }
    const given = Buffer.from(sig, 'base64url');
    const right = signature(signingKey, key, exp, dl);
    if (given.length !== right.length || !timingSafeEqual(given, right)) {
      throw invalid();
    }
    const expiresAt = Number(exp);
    if (expiresAt <= options.clock.now() / 1000) {
      throw new AppError(
        'media_expired',
        'This link has expired. Request the task result again to get a new one.',
      );
    }
    return { key, expiresAt, downloadName: dl };
  }

  return { sign, verify };
}

/** Throws InvariantError for what no storage signs: an invalid key, more than a week, a download name with special characters. */
export function requireSignable(key: string, { ttlSeconds, downloadName }: SignOptions): void {
  invariant(isStorageKey(key), 'only storage keys are signed');
  invariant(ttlSeconds > 0 && ttlSeconds <= TTL_SECONDS_MAX, 'a signed URL is valid for seconds to a week');
  invariant(
    downloadName === undefined || DOWNLOAD_NAME.test(downloadName),
    'a download name has only plain characters',
  );
}

function invalid(): AppError {
  return new AppError('signature_invalid', 'The signature of this link is not valid.');
}

function deriveKey(secret: string): SigningKey {
  invariant(secret.length >= 16, 'a signing secret has at least 16 characters');
  const bytes = Buffer.from(hkdfSync('sha256', secret, '', 'tollgate media url v1', 32));
  return { id: createHash('sha256').update(bytes).digest('hex').slice(0, 8), bytes };
}

// HEAD reveals less than GET, so one signature covers both. The lines are unambiguous: a key contains no line break, an expiry only
// digits, and the name is last.
function signature(
  key: SigningKey,
  storageKey: string,
  expiry: string,
  downloadName: string | undefined,
): Buffer {
  const text = ['GET', storageKey, expiry, downloadName ?? ''].join('\n');
  return createHmac('sha256', key.bytes).update(text).digest();
}
