const MINUTE_MS = 60_000;
const STEP_MS = 5 * MINUTE_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const DAY_HOURS = 24;
/** The longest ranges that are split into five-minute buckets, and into hours. */
const STEPS_MAX_MS = 6 * HOUR_MS;
const HOURS_MAX_MS = 3 * DAY_MS;

/** How timestamps are shown: in the user's time zone or in UTC. */
export type Zone = 'local' | 'utc';

/**
 * A preset, two days (UTC), or two instants: `1h`, `6h`, `24h`, `7d`, `30d`, `90d`, `2026-11-01,2026-11-15`,
 * `2026-11-01T10:00Z,2026-11-01T11:00Z`.
 */
export type RangeText = string;

export interface TimeRange {
  /** Inclusive, RFC 3339. */
  readonly start: string;
  /** Exclusive; undefined = now. */
  readonly end: string | undefined;
  readonly granularity: '5m' | 'hour' | 'day';
  /** Length of a bucket in ms. */
  readonly bucketMs: number;
}

const PRESET_HOURS: Readonly<Record<string, number>> = { '1h': 1, '6h': 6 };
const PRESET_DAYS: Readonly<Record<string, number>> = { '7d': 7, '30d': 30, '90d': 90, '365d': 365 };
const CUSTOM = /^(\d{4}-\d\d-\d\d),(\d{4}-\d\d-\d\d)$/;
const INSTANTS = /^(\d{4}-\d\d-\d\dT\d\d:\d\dZ),(\d{4}-\d\d-\d\dT\d\d:\d\dZ)$/;

/** Parses a range, aligned to whole UTC buckets, so that a chart does not start with a partial bucket. */
export function parseRange(text: RangeText, nowMs: number): TimeRange {
  const named = namedRange(text);
  if (named) {
    return named;
  }
  const hours = PRESET_HOURS[text];
  if (hours !== undefined) {
    return openRange(floor(nowMs, STEP_MS) - hours * HOUR_MS + STEP_MS, '5m');
  }
  const days = PRESET_DAYS[text];
  return days === undefined
    ? openRange(floor(nowMs, HOUR_MS) - 23 * HOUR_MS, 'hour')
    : openRange(floor(nowMs, DAY_MS) - (days - 1) * DAY_MS, 'day');
}

/** Returns whether a text from an address is a range at all: anything else would be shown under a name that it has not. */
export function isRange(text: string): boolean {
  return (
    text === '24h' ||
    Object.hasOwn(PRESET_HOURS, text) ||
    Object.hasOwn(PRESET_DAYS, text) ||
    namedRange(text) !== undefined
  );
}

function namedRange(text: RangeText): TimeRange | undefined {
  const [, from, to] = CUSTOM.exec(text) ?? [];
  if (from !== undefined && to !== undefined) {
    return rangeOf(Date.parse(`${from}T00:00:00Z`), Date.parse(`${to}T00:00:00Z`) + DAY_MS);
  }
  const [, start = '', end = ''] = INSTANTS.exec(text) ?? [];
  return rangeOf(floor(Date.parse(start), STEP_MS), floor(Date.parse(end) + STEP_MS - 1, STEP_MS));
}

/** Returns the same range in buckets that costs are available in: hours at the finest. */
export function inCostBuckets(range: TimeRange): TimeRange {
  return range.granularity === '5m' ? { ...range, granularity: 'hour', bucketMs: HOUR_MS } : range;
}

const BUCKET_MS = { '5m': STEP_MS, hour: HOUR_MS, day: DAY_MS } as const;

function openRange(startMs: number, granularity: TimeRange['granularity']): TimeRange {
  const bucketMs = BUCKET_MS[granularity];
  return { start: new Date(startMs).toISOString(), end: undefined, granularity, bucketMs };
}

/** Returns a range with buckets that suit its length. Undefined for invalid dates, or if the end is not after the start. */
function rangeOf(startMs: number, endMs: number): TimeRange | undefined {
  const length = endMs - startMs;
  if (!(length > 0)) {
    return undefined;
  }
  const granularity = length <= STEPS_MAX_MS ? '5m' : length <= HOURS_MAX_MS ? 'hour' : 'day';
  return { ...openRange(startMs, granularity), end: new Date(endMs).toISOString() };
}

function floor(timeMs: number, stepMs: number): number {
  return Math.floor(timeMs / stepMs) * stepMs;
}

/** Returns the starts of all buckets of a range, in Unix ms. The first bucket is cut off if the range starts within it. */
export function bucketsOf(range: TimeRange, nowMs: number): number[] {
  const end = range.end === undefined ? nowMs : Math.min(Date.parse(range.end), nowMs);
  const starts: number[] = [];
  for (let at = Date.parse(range.start); at < end; at = floor(at, range.bucketMs) + range.bucketMs) {
    starts.push(at);
  }
  return starts;
}

/** Returns the end of the bucket that starts at `startMs`; the last one ends with the range. */
export function endOfBucket(range: TimeRange, startMs: number): number {
  const end = floor(startMs, range.bucketMs) + range.bucketMs;
  return range.end === undefined ? end : Math.min(end, Date.parse(range.end));
}

/** Returns whether calls may still end in the last bucket. */
export function isOpenRange(range: TimeRange, nowMs: number): boolean {
  return range.end === undefined || Date.parse(range.end) > nowMs;
}

/**
 * Returns the time until which all ended calls of a range are recorded: the last five minutes that ended at least a minute ago.
 */
export function overUntil(range: TimeRange, nowMs: number): number {
  const over = floor(nowMs - MINUTE_MS, STEP_MS);
  return range.end === undefined ? over : Math.min(over, Date.parse(range.end));
}

/** Returns the range between two instants, which must be multiples of five minutes. */
export function rangeBetween(startMs: number, endMs: number): RangeText {
  const [start = '', end = ''] = [startMs, endMs].map((at) => new Date(at).toISOString());
  return startMs % DAY_MS === 0 && endMs % DAY_MS === 0
    ? `${start.slice(0, 10)},${new Date(endMs - DAY_MS).toISOString().slice(0, 10)}`
    : `${start.slice(0, 16)}Z,${end.slice(0, 16)}Z`;
}

/** Names a range that is not a preset: `Nov 1 – 15 UTC`; of another year than the current one: `Nov 1 – 15, 2025 UTC`. */
export function rangeName(text: RangeText, language: string, nowMs: number): string {
  const [from = '', until = from] = text.split(',');
  const isInstant = from.includes('T');
  const [start, end] = [from, until].map((at) => new Date(at));
  if (!start || !end || Number.isNaN(start.getTime()) || Number.isNaN(end.getTime())) {
    return text;
  }
  const thisYear = new Date(nowMs).getUTCFullYear();
  const format = new Intl.DateTimeFormat(language, {
    ...(end.getUTCFullYear() !== thisYear && { year: 'numeric' }),
    ...{ month: 'short', day: 'numeric', timeZone: 'UTC' },
    ...(isInstant && { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' as const }),
  });
  return `${format.formatRange(start, end)} UTC`;
}

/** Returns the first instant of the current UTC month, RFC 3339. */
export function monthStart(nowMs: number): string {
  const now = new Date(nowMs);
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1)).toISOString();
}

/** Formats a time in the language of the page: `22 Nov 2026, 11:23:43`. */
export function formatTime(iso: string, zone: Zone, language: string): string {
  return new Intl.DateTimeFormat(language, {
    dateStyle: 'medium',
    timeStyle: 'medium',
    hourCycle: 'h23',
    ...(zone === 'utc' && { timeZone: 'UTC' }),
  }).format(new Date(iso));
}

/** Formats a time with the name of the zone, for tooltips. */
export function formatTimeWithZone(iso: string, zone: Zone, language: string): string {
  return new Intl.DateTimeFormat(language, {
    ...{
      year: 'numeric',
      month: 'short',
      day: 'numeric',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
    },
    hourCycle: 'h23',
    timeZoneName: 'short',
    ...(zone === 'utc' && { timeZone: 'UTC' }),
  }).format(new Date(iso));
}

/** Returns the axis labels of a range's buckets, always in UTC. Hours of a range longer than a day include the date. */
export function bucketNames(range: TimeRange, starts: readonly number[], language: string): string[] {
  const isLong = (starts.at(-1) ?? 0) - (starts[0] ?? 0) >= DAY_MS;
  const format = new Intl.DateTimeFormat(language, {
    ...((range.granularity === 'day' || isLong) && { day: 'numeric', month: 'short' }),
    ...(range.granularity !== 'day' && { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }),
    timeZone: 'UTC',
  });
  return starts.map((start) => format.format(start));
}

/** Formats `14:35` in UTC. */
export function formatClock(timeMs: number, language: string): string {
  const parts = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23', timeZone: 'UTC' } as const;
  return new Intl.DateTimeFormat(language, parts).format(timeMs);
}

/** Formats `2 min ago`, `in 3 h`; undefined from one day on, where a date is more useful. */
export function relativeTime(iso: string, nowMs: number, language: string): string | undefined {
  const ms = Date.parse(iso) - nowMs;
  const [seconds, minutes, hours] = [1_000, MINUTE_MS, HOUR_MS].map((unit) => Math.round(ms / unit)) as [
    number,
    number,
    number,
  ];
  const format = new Intl.RelativeTimeFormat(language, { style: 'short', numeric: 'auto' });
  // by what is shown: 59 minutes and a half are an hour, not 60 minutes
  if (Math.abs(seconds) < 60) {
    return format.format(seconds, 'second');
  }
  if (Math.abs(minutes) < 60) {
    return format.format(minutes, 'minute');
  }
  return Math.abs(hours) < DAY_HOURS ? format.format(hours, 'hour') : undefined;
}

/** Formats a duration: `840 ms`, `1.57 s`, `2 min 5 s`, `3 h 20 min`, `4 d 1 h`. */
export function formatDuration(ms: number): string {
  const [milliseconds, seconds, minutes, hours] = [1, 1_000, MINUTE_MS, HOUR_MS].map((unit) =>
    Math.round(ms / unit),
  ) as [number, number, number, number];
  if (milliseconds < 1_000) {
    return `${milliseconds} ms`;
  }
  if (seconds < 60) {
    return `${(ms / 1_000).toFixed(ms < 9_995 ? 2 : 1)} s`;
  }
  if (seconds < 3_600) {
    return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  }
  return minutes < DAY_HOURS * 60
    ? `${Math.floor(minutes / 60)} h ${minutes % 60} min`
    : `${Math.floor(hours / DAY_HOURS)} d ${hours % DAY_HOURS} h`;
}
