import fc from 'fast-check';
import { isPrivateAddress } from '../lib/ip-address.ts';
import { LruMap } from '../lib/lru-map.ts';
import { decodeCursor, encodeCursor } from './answers/cursor.ts';
import { createAnswerCipher } from './idempotency/answer-cipher.ts';
import { bucketRange, periodOf } from './input/time-range.ts';

describe('LruMap', () => {
  test('evicts the least recently used entry and never exceeds its capacity', () => {
    const map = new LruMap<string, number>(2);
    map.set('a', 1);
    map.set('b', 2);
    map.get('a');
    map.set('c', 3);
    expect([map.get('a'), map.get('b'), map.get('c'), map.size]).toEqual([1, undefined, 3, 2]);
  });
});

describe('answer cipher', () => {
  const cipher = createAnswerCipher('a secret that is long enough');

  test('opens what it sealed, but only for the same row', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const sealed = cipher.seal(text, 'row 1');
        expect(cipher.open(sealed, 'row 1')).toBe(text);
        expect(cipher.open(sealed, 'row 2')).toBeUndefined();
        expect(createAnswerCipher('another secret').open(sealed, 'row 1')).toBeUndefined();
      }),
      { numRuns: 20 },
    );
  });

  test('any changed byte is detected', () => {
    const sealed = cipher.seal('hello', 'row');
    for (let index = 0; index < sealed.length; index += 1) {
      const changed = Buffer.from(sealed);
      changed[index] = (changed[index] ?? 0) ^ 1;
      expect(cipher.open(changed, 'row')).toBeUndefined();
    }
    expect(cipher.open(Buffer.alloc(3), 'row')).toBeUndefined();
  });
});

describe('cursors', () => {
  test('survive encoding and decoding', () => {
    expect(decodeCursor(encodeCursor(['1', 'ü']), [/^\d+$/, /./])).toEqual(['1', 'ü']);
  });

  test('reject everything else', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(() => decodeCursor(text, [/^\d+$/])).toThrow('cursor');
      }),
    );
    expect(() => decodeCursor(encodeCursor(['x']), [/^\d+$/])).toThrow('cursor');
    expect(() => decodeCursor(encodeCursor(['1', '2']), [/^\d+$/])).toThrow('cursor');
  });
});

test.each([
  ['127.0.0.1', true],
  ['::ffff:10.1.2.3', true],
  ['172.31.0.1', true],
  ['fd00::1', true],
  ['172.32.0.1', false],
  ['8.8.8.8', false],
  ['::ffff:8.8.8.8', false],
  ['2001:db8::1', false],
  ['', false],
])('%s is private: %s', (address, expected) => {
  expect(isPrivateAddress(address)).toBe(expected);
});

describe('bucketRange', () => {
  const now = Date.parse('2026-11-21T10:17:30Z');
  test('defaults to 30 days, or to the maximum of the granularity, and includes the current bucket', () => {
    expect(bucketRange({}, 'day', now).start.toISOString()).toBe('2026-10-22T10:20:00.000Z');
    expect(bucketRange({}, '5m', now).start.toISOString()).toBe('2026-11-19T10:20:00.000Z');
    expect(bucketRange({}, 'hour', now).end.getTime()).toBeGreaterThan(now);
  });

  test('allows a range of exactly the maximum, wherever its buckets begin', () => {
    const end = new Date('2026-11-21T10:15:00Z');
    const start = new Date(end.getTime() - 48 * 3_600_000);
    expect(bucketRange({ start_time: start, end_time: end }, '5m', now).bucketMs).toBe(300_000);
    const early = new Date(end.getTime() - 49 * 3_600_000);
    expect(() => bucketRange({ start_time: early, end_time: end }, '5m', now)).toThrow('2 days');
  });

  test('rejects a bound between two roll-ups and names the nearest allowed ones', () => {
    const between = { start_time: new Date('2028-01-15T10:00:20Z') };
    expect(() => bucketRange(between, 'day', now)).toThrow(
      /start_time.*2028-01-15T10:00:00Z or 2028-01-15T10:05:00Z/,
    );
    expect(() => bucketRange({ end_time: new Date(300_000.5) }, 'day', 0)).not.toThrow();
    expect(() => bucketRange({ end_time: new Date(300_001) }, 'day', 0)).toThrow(/^end_time/);
  });

  test('labels a partial bucket with the period that was counted', () => {
    const [start, end] = [new Date('2026-11-20T10:05:00Z'), new Date('2026-11-21T08:00:00Z')];
    const range = bucketRange({ start_time: start, end_time: end }, 'day', now);
    const midnight = new Date('2026-11-21T00:00:00Z');
    expect(periodOf(new Date('2026-11-20T00:00:00Z'), range)).toEqual({ start, end: midnight });
    expect(periodOf(midnight, range)).toEqual({ start: midnight, end });
  });
});
