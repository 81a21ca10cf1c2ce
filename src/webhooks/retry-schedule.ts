const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** Ms before each try, counted from the previous one: immediately, then 5 s, 30 s, 2 min, 10 min, 1 h, 6 h. */
export const RETRY_SCHEDULE_MS = [
  0,
  5 * SECOND_MS,
  30 * SECOND_MS,
  2 * MINUTE_MS,
  10 * MINUTE_MS,
  HOUR_MS,
  6 * HOUR_MS,
] as const;

const JITTER = 0.2;

/**
 * Returns the ms to wait after that many failed tries, plus up to a fifth so that a recovered endpoint is not flooded; undefined to
 * give up.
 */
export function nextTryMs(failedTries: number, random: () => number = Math.random): number | undefined {
  const base = RETRY_SCHEDULE_MS[failedTries];
  return base === undefined ? undefined : Math.round(base * (1 + JITTER * random()));
}
