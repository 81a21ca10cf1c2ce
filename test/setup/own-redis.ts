/**
 * Each worker of Jest has a Redis of its own, so that of two files that run at once none takes the other's jobs or empties its queues.
 * Not where the environment named one for all.
 */
const urls = process.env.TEST_REDIS_URLS?.split(' ');
if (urls) {
  process.env.TEST_REDIS_URL = urls[(Number(process.env.JEST_WORKER_ID) - 1) % urls.length];
}
