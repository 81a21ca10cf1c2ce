/**
 * Gives each Jest worker a Redis of its own, so that files that run at the same time do not take each other's jobs or empty each
 * other's queues. Does nothing when the environment names one Redis for all.
 */
const urls = process.env.TEST_REDIS_URLS?.split(' ');
if (urls) {
  process.env.TEST_REDIS_URL = urls[(Number(process.env.JEST_WORKER_ID) - 1) % urls.length];
}
