import { hash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { bucketOf } from '../lib/ids.ts';

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const PREFIX = 'sk-tg-v1-';
const ENTROPY_BYTES = 32;
const ENTROPY_DIGITS = 43;
const BUCKET_BITS = 12n;
const CHECKSUM_DIGITS = 6;
const FORMAT = /^sk-tg-v1-[0-9A-Za-z]{49}$/;

/**
 * Returns a new secret for a key of the account: prefix, 256 bits, and the CRC32 of all of that, both in base62. The last 12 bits are the
 * account's bucket and say where to look for the key first; the others are random. In older secrets all bits are random.
 */
export function newSecret(accountId: string): string {
  const random = BigInt(`0x${randomBytes(ENTROPY_BYTES).toString('hex')}`);
  const bits = ((random >> BUCKET_BITS) << BUCKET_BITS) | BigInt(bucketOf(accountId));
  const body = PREFIX + toBase62(bits, ENTROPY_DIGITS);
  return body + checksum(body);
}

/** Returns the SHA-256 hex of a well-formed secret; undefined for text that cannot be a key, decided without I/O. */
export function secretHash(secret: string): string | undefined {
  if (!FORMAT.test(secret)) {
    return undefined;
  }
  const body = secret.slice(0, -CHECKSUM_DIGITS);
  return secret.endsWith(checksum(body)) ? hash('sha256', secret) : undefined;
}

/** Returns the form in which a secret may be shown: enough to recognize it, too little to guess it. */
export function maskedSecret(secret: string): string {
  return `${secret.slice(0, PREFIX.length + 3)}...${secret.slice(-4)}`;
}

function checksum(body: string): string {
  return uint32ToBase62(crc32(body), CHECKSUM_DIGITS);
}

/** Formats a non-negative number as `length` base62 digits, zero-padded. */
function toBase62(value: bigint, length: number): string {
  let rest = value;
  let text = '';
  for (let index = 0; index < length; index += 1) {
    text = BASE62.charAt(Number(rest % 62n)) + text;
    rest /= 62n;
  }
  return text;
}

/** The same for an unsigned 32-bit integer. The key of every call is checked with it, and bigints would take some µs longer. */
function uint32ToBase62(value: number, length: number): string {
  let rest = value;
  let text = '';
  for (let index = 0; index < length; index += 1) {
    text = BASE62.charAt(rest % 62) + text;
    rest = Math.floor(rest / 62);
  }
  return text;
}
