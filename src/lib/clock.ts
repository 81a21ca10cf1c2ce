/** The process's idea of time. Passed in, so that tests can move it; the database keeps its own (`clock_timestamp()`). */
export interface Clock {
  /** Unix time in ms. */
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };
