import { hash, randomFillSync } from 'node:crypto';

const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
/** Character codes by five-bit value. Ids are written into a buffer: concatenating strings costs three times as much. */
const ULID_BYTES = Buffer.from(CROCKFORD, 'latin1');
const ULID_LENGTH = 26;
const HEX = '0123456789abcdef';
/** Value of a hex digit by its character code. */
const NIBBLES = new Uint8Array(128);
for (let value = 0; value < HEX.length; value += 1) {
  NIBBLES[HEX.charCodeAt(value)] = value;
  NIBBLES[HEX.toUpperCase().charCodeAt(value)] = value;
}
const UUID_LENGTH = 36;
const DASH = 45;
const ulidText = Buffer.alloc(ULID_LENGTH);
const ULID_PATTERN = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

/** Random bytes per id. They come from a pool: asking the system for ten bytes at a time costs more than the rest of the id. */
const RANDOM_BYTES = 10;
const RANDOM_POOL_BYTES = 4_000;
const randomPool = Buffer.allocUnsafe(RANDOM_POOL_BYTES);
let randomOffset = RANDOM_POOL_BYTES;

/** The ms of the newest id, and that id's counter within the ms. */
let newestMs = -1;
let place = 0;
/** At least this many ids of one ms sort in order: far more than a process can make in that time. */
const PLACES = 32_768;

/** Hex digits at the end of an id that hold the owner's bucket: 12 bits, so 4,096 buckets. */
const BUCKET_DIGITS = 3;
const NO_BUCKET = '000';
const LAST_BUCKET = 'fff';
/** Hex digits of the Unix ms at the start of an id. */
const TIME_DIGITS = 12;
const HEX_DIGITS = 32;

/** The kinds of public ids, with the prefix that clients see in front of the ULID. */
const PREFIXES = {
  generation: 'gen-',
  request: 'req_',
  account: 'acc_',
  checkoutSession: 'cs_',
  invoice: 'inv_',
  webhookDelivery: 'whd_',
  browserSession: 'ses_',
  member: 'mem_',
  invitation: 'ivt_',
} as const;

export type IdKind = keyof typeof PREFIXES;

/**
 * Returns a new time-ordered 128-bit id in the text form of a UUID (what Postgres stores): 48 bits of Unix ms and 80 more, the
 * layout of a ULID (github.com/ulid/spec). Time order keeps index inserts local, lets tables be partitioned by id, and
 * makes "by id" the order of lists and queues. For that reason ids made by one process within the same ms are ordered too:
 * of the 80 bits, the first 16 count up from a random number. The other 64 are random in each id, so no id predicts the next.
 */
export function newUuid(nowMs: number = Date.now()): string {
  if (randomOffset + RANDOM_BYTES > RANDOM_POOL_BYTES) {
    randomFillSync(randomPool);
    randomOffset = 0;
  }
  const bytes = Buffer.allocUnsafe(16);
  bytes.writeUIntBE(nowMs, 0, 6);
  randomPool.copy(bytes, 6, randomOffset, randomOffset + RANDOM_BYTES);
  randomOffset += RANDOM_BYTES;
  place = nowMs === newestMs ? (place + 1) % (2 * PLACES) : bytes.readUInt16BE(6) % PLACES;
  newestMs = nowMs;
  bytes.writeUInt16BE(place, 6);
  return bytesToUuid(bytes);
}

/**
 * Returns a new id for something the account owns: like {@link newUuid}, with the account's bucket in the last 12 bits.
 * 52 bits are random in each.
 */
export function newOwnedUuid(accountId: string, nowMs?: number): string {
  return newUuid(nowMs).slice(0, -BUCKET_DIGITS) + accountId.slice(-BUCKET_DIGITS);
}

/** Returns a new request id: like {@link newUuid}, with 0 in the last 12 bits, where {@link ownedByRequest} puts a bucket. */
export function newRequestUuid(nowMs?: number): string {
  return requestUuidOf(newUuid(nowMs));
}

/** Returns the id of the single object a request creates for an account: the request's id with the account's bucket in the last 12 bits. */
export function ownedByRequest(requestUuid: string, accountId: string): string {
  return requestUuid.slice(0, -BUCKET_DIGITS) + accountId.slice(-BUCKET_DIGITS);
}

/** Returns the request id that {@link ownedByRequest} derived an id from. */
export function requestUuidOf(ownedId: string): string {
  return ownedId.slice(0, -BUCKET_DIGITS) + NO_BUCKET;
}

/**
 * Returns the lowest and highest id that {@link ownedByRequest} can derive from a request; nulls for an id that {@link newRequestUuid} did
 * not make.
 */
export function idsOwnedByRequest(requestUuid: string): readonly [string, string] | readonly [null, null] {
  return requestUuid.endsWith(NO_BUCKET)
    ? [requestUuid, requestUuid.slice(0, -BUCKET_DIGITS) + LAST_BUCKET]
    : [null, null];
}

/**
 * Returns the bucket (0 to 4,095) of an account, from its id or from the id of something it owns. An account's bucket never changes: it is
 * the end of its own id. Objects from before ids carried buckets end in arbitrary digits, so for those use the account's id.
 */
export function bucketOf(id: string): number {
  return Number.parseInt(id.slice(-BUCKET_DIGITS), 16);
}

/** Derives an id from a name: the first 128 bits of its SHA-256. It carries neither time nor bucket. */
export function namedUuid(name: string): string {
  return hexToUuid(sha256Hex(name));
}

/** Derives an id from a name for something the account owns, dated `timeMs` (Unix ms). 68 bits come from the name. */
export function namedOwnedUuid(name: string, accountId: string, timeMs: number): string {
  const nameDigits = HEX_DIGITS - TIME_DIGITS - BUCKET_DIGITS;
  const time = timeMs.toString(16).padStart(TIME_DIGITS, '0');
  return hexToUuid(time + sha256Hex(name).slice(0, nameDigits) + accountId.slice(-BUCKET_DIGITS));
}

/** Returns the public form of a stored id: prefix + ULID, e.g. `gen-01JD…`. */
export function publicId(kind: IdKind, uuid: string): string {
  return PREFIXES[kind] + uuidToUlid(uuid);
}

/** Returns the stored form of a public id, or undefined if the text is not an id of this kind. */
export function parsePublicId(kind: IdKind, text: string): string | undefined {
  const prefix = PREFIXES[kind];
  return text.startsWith(prefix) ? ulidToUuid(text.slice(prefix.length)) : undefined;
}

/** Returns the creation time of an id, in Unix ms. */
export function uuidTimeMs(uuid: string): number {
  return Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16);
}

/** Encodes a UUID's 128 bits, preceded by two zero bits, as 26 characters of Crockford base32. */
export function uuidToUlid(uuid: string): string {
  let bits = 0;
  let held = 2;
  let length = 0;
  for (let index = 0; index < UUID_LENGTH; index += 1) {
    const code = uuid.charCodeAt(index);
    if (code === DASH) {
      continue;
    }
    bits = (bits << 4) | (NIBBLES[code] ?? 0);
    held += 4;
    if (held >= 5) {
      held -= 5;
      ulidText[length] = ULID_BYTES[(bits >> held) & 31] ?? 0;
      length += 1;
      bits &= (1 << held) - 1;
    }
  }
  return ulidText.toString('latin1');
}

/** The inverse of {@link uuidToUlid}. Returns undefined for anything but 26 canonical upper-case characters. */
export function ulidToUuid(ulid: string): string | undefined {
  if (!ULID_PATTERN.test(ulid)) {
    return undefined;
  }
  let bits = 0n;
  for (const character of ulid) {
    bits = (bits << 5n) | BigInt(CROCKFORD.indexOf(character));
  }
  return bytesToUuid(Buffer.from(bits.toString(16).padStart(32, '0'), 'hex'));
}

/** Returns the lowest UUID of a moment (Unix ms): ids start with 48 bits of Unix ms. */
export function idAt(timeMs: number): string {
  const hex = Math.max(0, Math.floor(timeMs)).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-0000-0000-000000000000`;
}

function sha256Hex(text: string): string {
  return hash('sha256', text);
}

function bytesToUuid(bytes: Buffer): string {
  return hexToUuid(bytes.toString('hex'));
}

/** Formats 32 hexadecimal digits as a UUID (RFC 9562 §4). */
export function hexToUuid(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}`;
}
