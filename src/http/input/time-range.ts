import { z } from 'zod';
import { FieldError } from './validate.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const DEFAULT_RANGE_MS = 30 * DAY_MS;
const UNIX_SECONDS_MAX = 253_402_300_799;

/** RFC 3339, a UTC day or Unix seconds, as a Date. */
export const timeParameter = z
  .string()
  .transform((text, context): Date => {
    const time = parseTime(text);
    if (time === undefined) {
      context.addIssue({
        code: 'custom',
        message: 'must be an RFC 3339 time, a day such as 2026-11-01, or unix seconds',
      });
      return z.NEVER;
    }
    return time;
  })
  .meta({
    description: 'RFC 3339, a day (its 00:00 UTC) or unix seconds',
    examples: ['2026-11-01T00:00:00Z'],
  });

/** A day without its hyphens. As seconds it would be in 1970 or 1971, and the range silently a different one. */
const UNHYPHENATED_DAY = /^(?:19|20)\d{6}$/;
const rfc3339 = z.iso.datetime({ offset: true });
const day = z.iso.date();

function parseTime(text: string): Date | undefined {
  if (UNHYPHENATED_DAY.test(text)) {
    return undefined;
  }
  if (/^\d{1,12}$/.test(text)) {
    const seconds = Number(text);
    return seconds <= UNIX_SECONDS_MAX ? new Date(seconds * SECOND_MS) : undefined;
  }
  // a "+02:00" that was not percent-encoded in the query arrives with a space
  const time = text.replace(/ (?=\d\d:\d\d$)/, '+');
  return day.safeParse(time).success || rfc3339.safeParse(time).success ? new Date(time) : undefined;
}

export const GRANULARITIES = ['5m', 'hour', 'day'] as const;
export type Granularity = (typeof GRANULARITIES)[number];

/** Length of a bucket, and the longest range that can be requested with it, in ms. */
const BUCKETS: Readonly<Record<Granularity, { readonly lengthMs: number; readonly rangeMsMax: number }>> = {
  '5m': { lengthMs: 5 * MINUTE_MS, rangeMsMax: 48 * HOUR_MS },
  hour: { lengthMs: HOUR_MS, rangeMsMax: 31 * DAY_MS },
  day: { lengthMs: DAY_MS, rangeMsMax: 366 * DAY_MS },
};

/** A time range, start inclusive, end exclusive, divided into UTC buckets. */
export interface BucketRange {
  readonly start: Date;
  readonly end: Date;
  readonly granularity: Granularity;
  readonly bucketMs: number;
}

export interface RangeQuery {
  readonly start_time?: Date | undefined;
  readonly end_time?: Date | undefined;
}

/** Rejects a range that ends before it starts. Throws FieldError. */
export function checkOrder({ start_time: start, end_time: end }: RangeQuery): void {
  if (start && end && start > end) {
    throw new FieldError('start_time', 'must not be after end_time');
  }
}

/** Reports are sums of roll-ups of this length, so a bound inside one cannot be applied exactly. */
const STEP_MS = BUCKETS['5m'].lengthMs;

/**
 * Returns the exact range that a query asks for. By default, it covers the last 30 days, or the maximum of the granularity, and the rest
 * of the bucket that contains `nowMs`. Throws FieldError when a bound is not a multiple of five minutes, or when the range ends before it
 * starts or is too long for its buckets.
 */
export function bucketRange(query: RangeQuery, granularity: Granularity, nowMs: number): BucketRange {
  const { lengthMs, rangeMsMax } = BUCKETS[granularity];
  // an open end includes the whole current bucket
  const end = boundMs('end_time', query.end_time) ?? floor(nowMs, lengthMs) + lengthMs;
  const start =
    boundMs('start_time', query.start_time) ??
    (query.end_time?.getTime() ?? floor(nowMs, STEP_MS) + STEP_MS) - Math.min(DEFAULT_RANGE_MS, rangeMsMax);
  if (start > end) {
    throw new FieldError(
      'start_time',
      query.end_time ? 'must not be after end_time' : 'must not be in the future',
    );
  }
  if (end - start > rangeMsMax + lengthMs) {
    const days = rangeMsMax / DAY_MS;
    throw new FieldError(
      'start_time',
      `the range is longer than the ${days} days that "${granularity}" allows`,
    );
  }
  return { start: new Date(start), end: new Date(end), granularity, bucketMs: lengthMs };
}

/** Returns the period of a bucket. Where the range cuts the bucket, the bound of the range counts. */
export function periodOf(
  bucketStart: Date,
  range: BucketRange,
): { readonly start: Date; readonly end: Date } {
  const startMs = bucketStart.getTime();
  return {
    start: new Date(Math.max(startMs, range.start.getTime())),
    end: new Date(Math.min(startMs + range.bucketMs, range.end.getTime())),
  };
}

function boundMs(name: 'start_time' | 'end_time', bound: Date | undefined): number | undefined {
  if (bound === undefined) {
    return undefined;
  }
  const below = floor(bound.getTime(), STEP_MS);
  if (below !== bound.getTime()) {
    const nearest = [below, below + STEP_MS].map((time) => withoutMs(new Date(time)));
    throw new FieldError(
      name,
      `must be a multiple of 5 minutes, so that each call is counted in one range: ${nearest.join(' or ')}`,
    );
  }
  return below;
}

function floor(timeMs: number, stepMs: number): number {
  return Math.floor(timeMs / stepMs) * stepMs;
}

function withoutMs(time: Date): string {
  return time.toISOString().replace('.000Z', 'Z');
}
