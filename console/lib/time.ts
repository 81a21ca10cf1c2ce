const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

/** How timestamps are shown: in the viewer's zone or in UTC. */
export type Zone = 'local' | 'utc';

/** A preset, two days (UTC), or two instants: `24h`, `7d`, `30d`, `90d`, `2026-11-01,2026-11-15`, `2026-11-01T10:00Z,2026-11-01T11:00Z`. */
export type RangeText = string;

export interface TimeRange {
  /** Inclusive, RFC 3339. */
  readonly start: string;
  /** Exclusive; undefined = now. */
  readonly end: string | undefined;
  readonly granularity: 'hour' | 'day';
  /** Length of a bucket in ms. */
  readonly bucketMs: number;
}

const PRESET_DAYS: Readonly<Record<string, number>> = { '7d': 7, '30d': 30, '90d': 90, '365d': 365 };
const CUSTOM = /^(\d{4}-\d\d-\d\d),(\d{4}-\d\d-\d\d)$/;
const INSTANTS = /^(\d{4}-\d\d-\d\dT\d\d:\d\dZ),(\d{4}-\d\d-\d\dT\d\d:\d\dZ)$/;

/** The range that a text names, in whole buckets of UTC, so that a chart has no half bucket at its beginning. */
export function parseRange(text: RangeText, nowMs: number): TimeRange {
  const custom = CUSTOM.exec(text);
  if (custom) {
    const [, from = '', to = ''] = custom;
    const end = new Date(Date.parse(`${to}T00:00:00Z`) + DAY_MS).toISOString();
    return dayRange(`${from}T00:00:00.000Z`, end);
  }
  const instants = INSTANTS.exec(text);
  if (instants) {
    const [start, end] = [new Date(instants[1] ?? ''), new Date(instants[2] ?? '')];
    return { start: start.toISOString(), end: end.toISOString(), granularity: 'hour', bucketMs: HOUR_MS };
  }
  const days = PRESET_DAYS[text];
  if (days === undefined) {
    const start = new Date(Math.floor(nowMs / HOUR_MS) * HOUR_MS - 23 * HOUR_MS).toISOString();
    return { start, end: undefined, granularity: 'hour', bucketMs: HOUR_MS };
  }
  const start = new Date(Math.floor(nowMs / DAY_MS) * DAY_MS - (days - 1) * DAY_MS).toISOString();
  return dayRange(start, undefined);
}

function dayRange(start: string, end: string | undefined): TimeRange {
  return { start, end, granularity: 'day', bucketMs: DAY_MS };
}

/** The starts of all buckets of a range, in Unix ms. */
export function bucketsOf(range: TimeRange, nowMs: number): number[] {
  const end = range.end === undefined ? nowMs : Math.min(Date.parse(range.end), nowMs);
  const starts: number[] = [];
  for (let at = Date.parse(range.start); at < end; at += range.bucketMs) {
    starts.push(at);
  }
  return starts;
}

/** The range that is one bucket of a chart. */
export function rangeOfBucket(startMs: number, bucketMs: number): RangeText {
  const [start, end] = [startMs, startMs + bucketMs].map((at) => new Date(at).toISOString());
  return bucketMs === DAY_MS
    ? `${start?.slice(0, 10)},${start?.slice(0, 10)}`
    : `${start?.slice(0, 16)}Z,${end?.slice(0, 16)}Z`;
}

/** `Nov 1 – Nov 15 UTC`: what a range is called that has no name of its own. */
export function rangeName(text: RangeText, language: string): string {
  const [from = '', until = from] = text.split(',');
  const isInstant = from.includes('T');
  const format = new Intl.DateTimeFormat(language, {
    ...{ month: 'short', day: 'numeric', timeZone: 'UTC' },
    ...(isInstant && { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' as const }),
  });
  const [start, end] = [from, until].map((at) => new Date(at));
  if (!start || !end || Number.isNaN(start.getTime()) || Number.isNaN(end.getTime())) {
    return text;
  }
  return `${format.formatRange(start, end)} UTC`;
}

/** First instant of the running UTC month, RFC 3339. */
export function monthStart(nowMs: number): string {
  const now = new Date(nowMs);
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1)).toISOString();
}

/** `22 Nov 2026, 11:23:43`, in the language of the page. */
export function formatTime(iso: string, zone: Zone, language: string): string {
  return new Intl.DateTimeFormat(language, {
    dateStyle: 'medium',
    timeStyle: 'medium',
    hourCycle: 'h23',
    ...(zone === 'utc' && { timeZone: 'UTC' }),
  }).format(new Date(iso));
}

/** With the name of the zone: for tooltips. */
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

/** A bucket's name on an axis; buckets are of UTC and stay so. */
export function formatBucket(
  startMs: number,
  granularity: TimeRange['granularity'],
  language: string,
): string {
  const parts: Intl.DateTimeFormatOptions =
    granularity === 'hour'
      ? { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }
      : { day: 'numeric', month: 'short' };
  return new Intl.DateTimeFormat(language, { ...parts, timeZone: 'UTC' }).format(new Date(startMs));
}

/** `2 min ago`, `in 3 h`; undefined from a day on, when the date says more. */
export function relativeTime(iso: string, nowMs: number, language: string): string | undefined {
  const seconds = Math.round((Date.parse(iso) - nowMs) / 1_000);
  const size = Math.abs(seconds);
  if (size >= DAY_MS / 1_000) {
    return undefined;
  }
  const format = new Intl.RelativeTimeFormat(language, { style: 'short', numeric: 'auto' });
  if (size < 60) {
    return format.format(seconds, 'second');
  }
  return size < 3_600
    ? format.format(Math.round(seconds / 60), 'minute')
    : format.format(Math.round(seconds / 3_600), 'hour');
}

/** `840 ms`, `1.57 s`, `2 min 5 s`. */
export function formatDuration(ms: number): string {
  if (ms < 1_000) {
    return `${Math.round(ms)} ms`;
  }
  if (ms < 60_000) {
    return `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  }
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1_000)} s`;
}
