import fc from 'fast-check';
import {
  bucketOf,
  idsOwnedByRequest,
  namedOwnedUuid,
  newOwnedUuid,
  newRequestUuid,
  newUuid,
  ownedByRequest,
  parsePublicId,
  publicId,
  requestUuidOf,
  ulidToUuid,
  uuidTimeMs,
  uuidToUlid,
} from './ids.ts';

test('ids sort by creation time and contain it', () => {
  const early = newUuid(1_700_000_000_000);
  const late = newUuid(1_700_000_000_001);
  expect(early < late).toBe(true);
  expect(uuidToUlid(early) < uuidToUlid(late)).toBe(true);
  expect(uuidTimeMs(late)).toBe(1_700_000_000_001);
});

test('ids of the same ms sort in creation order, and none predicts the next', () => {
  const nowMs = 1_700_000_000_002;
  const ids = Array.from({ length: 20_000 }, () => newUuid(nowMs));
  expect([...ids].sort()).toEqual(ids);
  expect(new Set(ids.map(uuidTimeMs))).toEqual(new Set([nowMs]));
  expect(new Set(ids.map((id) => id.slice(-16))).size).toBe(ids.length);
});

test('ids owned by an account carry its bucket, sort by time and are unique', () => {
  const account = newUuid();
  const nowMs = 1_700_000_000_003;
  const ids = Array.from({ length: 20_000 }, () => newOwnedUuid(account, nowMs));
  expect(new Set(ids.map(bucketOf))).toEqual(new Set([bucketOf(account)]));
  expect([...ids].sort()).toEqual(ids);
  expect(new Set(ids.map((id) => id.slice(-16, -3))).size).toBe(ids.length);
  expect(bucketOf('019abcde-0000-0000-0000-000000000fff')).toBe(4_095);
});

test('an id derived from a name carries the given time and the owner’s bucket, and differs by name', () => {
  const account = newUuid();
  const named = namedOwnedUuid('one', account, 1_700_000_000_004);
  expect(named).toBe(namedOwnedUuid('one', account, 1_700_000_000_004));
  expect(parsePublicId('invoice', publicId('invoice', named))).toBe(named);
  expect([uuidTimeMs(named), bucketOf(named)]).toEqual([1_700_000_000_004, bucketOf(account)]);
  expect(namedOwnedUuid('two', account, 1_700_000_000_004).slice(14, -3)).not.toBe(named.slice(14, -3));
});

test('an id owned by a request equals the request id except for the bucket', () => {
  const account = newUuid();
  const request = newRequestUuid(1_700_000_000_005);
  const owned = ownedByRequest(request, account);
  expect([uuidTimeMs(owned), bucketOf(owned)]).toEqual([1_700_000_000_005, bucketOf(account)]);
  expect(requestUuidOf(owned)).toBe(request);
  expect(idsOwnedByRequest(request)).toEqual([request, `${request.slice(0, -3)}fff`]);
  expect(idsOwnedByRequest(`${request.slice(0, -1)}1`)).toEqual([null, null]);
});

test('accounts are spread over all buckets', () => {
  const buckets = new Set(Array.from({ length: 100_000 }, () => bucketOf(newUuid())));
  expect(buckets.size).toBe(4_096);
});

test('a UUID and its ULID are the same 128 bits', () => {
  fc.assert(
    fc.property(fc.uuid(), (uuid) => {
      expect(ulidToUuid(uuidToUlid(uuid))).toBe(uuid);
    }),
  );
  expect(uuidToUlid('ffffffff-ffff-ffff-ffff-ffffffffffff')).toBe('7ZZZZZZZZZZZZZZZZZZZZZZZZZ');
});

test('a public id parses only as its own kind', () => {
  const uuid = newUuid();
  const id = publicId('generation', uuid);
  expect(id).toMatch(/^gen-[0-9A-HJKMNP-TV-Z]{26}$/);
  expect(parsePublicId('generation', id)).toBe(uuid);
  expect(parsePublicId('account', id)).toBeUndefined();
});

test.each([
  '',
  'gen-',
  'gen-8ZZZZZZZZZZZZZZZZZZZZZZZZZ',
  'gen-01jd00000000000000000000ab',
  `gen-${'0'.repeat(25)}U`,
])('%j is not a generation id', (text) => {
  expect(parsePublicId('generation', text)).toBeUndefined();
});
