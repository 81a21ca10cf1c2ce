/** The clock of the process. Injected so that tests can set it; the database has its own (`clock_timestamp()`). */
export interface Clock {
  /** Unix time in ms. */
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };
