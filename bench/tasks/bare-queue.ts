import { once } from 'node:events';
import { Queue } from 'bullmq';
import { startProcess, stopProcess } from '../measure/processes.ts';
import { runBatch } from './orders.ts';

/** Measures the jobs per second that BullMQ alone adds and processes: one add per job from `clients` clients, one worker process. */
export async function bareJobsPerSecond(
  redisUrl: string,
  jobs: number,
  clients: number,
  log: string,
): Promise<number> {
  const environment = { REDIS_URL: redisUrl, JOBS: String(jobs), CONCURRENCY: String(clients) };
  const worker = startProcess('bench/tasks/bare-worker.ts', environment, log);
  await once(worker, 'message');
  const redis = new URL(redisUrl);
  const queue = new Queue('bare', {
    connection: { host: redis.hostname, port: Number(redis.port), password: redis.password },
    prefix: '{bare}',
  });
  try {
    await queue.waitUntilReady();
    const done = once(worker, 'message');
    const startedAt = performance.now();
    await runBatch(jobs, clients, async (number) => void (await queue.add('bare', { number })));
    await done;
    return jobs / ((performance.now() - startedAt) / 1_000);
  } finally {
    await queue.close();
    await stopProcess(worker);
  }
}
