import { Worker } from 'bullmq';

/** The baseline: BullMQ alone. Takes jobs, does nothing with them, and reports when it has received the expected number. */
const redis = new URL(process.env.REDIS_URL!);
let left = Number(process.env.JOBS);
const worker = new Worker('bare', async () => undefined, {
  connection: { host: redis.hostname, port: Number(redis.port), password: redis.password },
  prefix: '{bare}',
  concurrency: Number(process.env.CONCURRENCY),
  removeOnComplete: { count: 1_000 },
});
worker.on('error', (error) => process.stderr.write(`${error.message}\n`));
worker.on('completed', () => {
  left -= 1;
  if (left === 0) {
    process.send?.({ type: 'done' });
  }
});
await worker.waitUntilReady();
process.send?.({ type: 'ready' });
process.on('disconnect', () => process.exit(0));
