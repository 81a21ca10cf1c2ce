import { systemClock } from '../lib/clock.ts';

/** Longest wait that we accept from an upstream, in ms. */
const WAIT_MS_MAX = 3_600_000;

/** Returns a response header by its lower-case name. */
export type HeaderOf = (name: string) => string | undefined;

/**
 * Returns how long a response asks us to wait, in ms. Reads `retry-after-ms`, which OpenAI and Azure send and which is more precise,
 * otherwise `Retry-After` in seconds (fractions allowed) or as an HTTP date (RFC 9110 §10.2.3). Returns undefined when neither is valid.
 */
export function retryAfterMs(header: HeaderOf, nowMs = systemClock.now()): number | undefined {
  const milliseconds = Number(header('retry-after-ms'));
  if (milliseconds > 0) {
    return Math.min(milliseconds, WAIT_MS_MAX);
  }
  const value = header('retry-after')?.trim() ?? '';
  if (value === '') {
    return undefined;
  }
  const seconds = Number(value);
  const ms = Number.isFinite(seconds) ? seconds * 1_000 : Date.parse(value) - nowMs;
  return Number.isFinite(ms) ? Math.min(Math.max(0, ms), WAIT_MS_MAX) : undefined;
}
