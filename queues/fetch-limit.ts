/**
 * Maximum number of jobs that the workers of a queue fetch per `duration` ms: far above any real rate. Without a limit, a worker
 * ignores the rest that an upstream's 429 puts on its queue. BullMQ keeps both in one counter, which exceeds the limit only during
 * a rest.
 */
export const FETCH_LIMIT = { max: 1_000_000, duration: 1_000 };
