/**
 * How many jobs the workers of a queue may take in `duration` ms: far above any real rate. Without a limit a worker does not look at
 * the rest that an upstream's 429 puts on its queue; both are kept in one counter, which is above the limit only during a rest.
 */
export const FETCH_LIMIT = { max: 1_000_000, duration: 1_000 };
