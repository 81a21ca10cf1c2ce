import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedRedis } from '../../ops/embedded/embedded-redis.ts';
import { findFfmpeg } from '../../ops/embedded/ffmpeg.ts';
import { redisCacheFolders } from '../../ops/embedded/redis-binary.ts';
import { ownTemporaryFolder } from '../../test/factories/temporary-folder.ts';
import { openAccounts } from '../measure/accounts.ts';
import { startBenchPostgres } from '../measure/bench-postgres.ts';
import { percentile, runClients } from '../measure/clients.ts';
import { addressOf, startProcess, stopProcess } from '../measure/processes.ts';
import { type Meters, ownProcessorMs, processorMs, startMeters } from '../measure/processor-time.ts';
import { profileSummary } from '../measure/profile.ts';
import { type BenchRow, comparedTable, publishResult } from '../measure/result.ts';
import { runAtRate } from '../measure/run-at-rate.ts';
import { spreadOf, spreadTextOf } from '../measure/spread.ts';
import { markdownTable } from '../measure/table.ts';
import { bareJobsPerSecond } from './bare-queue.ts';
import { Customers, runBatch } from './orders.ts';
import { measurePostprocess } from './postprocess.ts';
import { TaskClock } from './task-clock.ts';

/**
 * `npm run bench:tasks [-- --quick --profile --keep]`: the asynchronous path on real processes. One API process, two worker processes,
 * Postgres with fsync on, Redis with its append-only file, files in a local folder. The engine runs in its own process and answers at once,
 * over HTTP. Load, engine, databases and service share the machine.
 */
const quick = process.argv.includes('--quick');
const profiled = process.argv.includes('--profile');
const kept = process.argv.includes('--keep');
const CLIENTS = 64;
const ACCOUNTS = 16;
const WORKERS = 2;
const ENGINE_SLOTS = 16;
const PICK_UP_RATE = 5;
const PICK_UP_TASKS = quick ? 30 : 300;
const TASKS = quick ? 600 : 4_000;
const ROUNDS = quick ? 1 : 3;
const BARE_JOBS = quick ? 5_000 : 20_000;
const SUBMIT_MS = quick ? 3_000 : 10_000;
/**
 * Enough for the processes to run compiled code, as they do after some minutes of uptime: a worker's processor time per task falls over the
 * first 10,000 tasks or so.
 */
const WARM_UP_TASKS = quick ? 200 : 12_000;

function catalogFor(engine: string): string {
  return `
models:
  - id: image-turbo
    endpoints: [image]
    pricing: { request: "0.000001" }
    routes: [{ engine: instant, model: instant }]
engines:
  - { id: instant, kind: openai, base_url: "${engine}/v1", kinds: [image], slots: ${ENGINE_SLOTS} }
limits: { requests_per_minute: 10000000, tokens_per_minute: 10000000000, concurrency: 10000, queued_tasks: 100000 }
`;
}

const folder = ownTemporaryFolder('bench-tasks');
const log = join(folder, 'processes.log');
const adminToken = 'admin-token-of-the-tasks-bench';
const postgres = await startBenchPostgres();
const redis = await startEmbeddedRedis({
  dataDir: folder,
  durable: true,
  logFile: join(folder, 'redis.log'),
  environment: process.env,
  cacheFolders: redisCacheFolders(process.env, folder),
});
const children: ChildProcess[] = [];
const profiles = { api: join(folder, 'profile-api'), worker: join(folder, 'profile-worker') };

function startProfiled(script: string, environment: NodeJS.ProcessEnv, profile: string): ChildProcess {
  const options = profiled ? ['--cpu-prof', `--cpu-prof-dir=${profile}`] : [];
  const child = startProcess(script, environment, log, options);
  children.push(child);
  return child;
}

async function startWorkers(environment: NodeJS.ProcessEnv): Promise<ChildProcess[]> {
  const workers = Array.from({ length: WORKERS }, () =>
    startProfiled('dist/workers/main.js', environment, profiles.worker),
  );
  await Promise.all(workers.map((worker) => once(worker, 'message')));
  return workers;
}

async function endToEnd(customers: Customers, clock: TaskClock, tasks: number): Promise<number> {
  const mark = await clock.mark();
  await runBatch(tasks, CLIENTS, () => customers.submit());
  await clock.untilEnded(mark);
  return await clock.perSecond(mark);
}

async function pickUp(customers: Customers, clock: TaskClock) {
  const mark = await clock.mark();
  const commits: number[] = [];
  await runAtRate(PICK_UP_TASKS, PICK_UP_RATE, async () => {
    await customers.submit();
    commits.push(await clock.commitMs());
  });
  await clock.untilEnded(mark);
  commits.sort((a, b) => a - b);
  return {
    ...(await clock.pickUp(mark)),
    commitP50Ms: percentile(commits, 0.5),
    commitP99Ms: percentile(commits, 0.99),
  };
}

/** Returns the ms that each part used per operation. */
function perOperation(used: readonly [string, number][], operations: number): [string, number][] {
  return used.map(([name, ms]) => [name, ms / operations]);
}

/** Runs rounds of tasks. Returns the tasks per second of each round, and the ms that each part used per task. */
async function measureRounds(rounds: number, meters: Meters, runRound: () => Promise<number>) {
  const stopMeters = startMeters(meters);
  const perSecond: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    perSecond.push(await runRound());
  }
  return { perSecond, used: perOperation(stopMeters(), rounds * TASKS) };
}

async function measureService() {
  const engine = startProcess('bench/tasks/instant-engine.ts', {}, log);
  children.push(engine);
  writeFileSync(join(folder, 'tollgate.yaml'), catalogFor(await addressOf(engine)));
  const { ffmpeg, ffprobe } = findFfmpeg(process.env);
  const environment = {
    DATABASE_URL: postgres.url,
    REDIS_URL: redis.redisUrl,
    DATA_DIR: folder,
    TOLLGATE_CONFIG: join(folder, 'tollgate.yaml'),
    TOLLGATE_SECRET: 'a secret of the tasks bench, 32 characters',
    ADMIN_TOKEN: adminToken,
    FFMPEG_PATH: ffmpeg,
    FFPROBE_PATH: ffprobe,
    PORT: '0',
    LOG_LEVEL: 'info',
  };
  await once(startProcess('dist/src/operators/first-start.js', environment, log), 'exit');
  const api = startProfiled('dist/src/server.js', environment, profiles.api);
  const url = await addressOf(api);
  const customers = new Customers(url, await openAccounts(url, adminToken, ACCOUNTS));
  const clock = await TaskClock.open(postgres.ownerUrl);
  const workers = await startWorkers(environment);
  await endToEnd(customers, clock, WARM_UP_TASKS);
  const meters = {
    API: () => processorMs(api.pid!),
    workers: () => workers.reduce((sum, worker) => sum + processorMs(worker.pid!), 0),
    Postgres: () => processorMs(postgres.pid),
    Redis: () => processorMs(redis.pid),
    engine: () => processorMs(engine.pid!),
    load: ownProcessorMs,
  };
  const steady = await measureRounds(ROUNDS, meters, () => endToEnd(customers, clock, TASKS));
  const waits = await pickUp(customers, clock);
  const rested = await measureRounds(1, meters, () => endToEnd(customers, clock, TASKS));
  if ((await customers.fetchNewest()) === 0) {
    throw new Error('the newest image is empty');
  }
  await Promise.all(workers.map(stopProcess));
  const bare = await bareJobsPerSecond(redis.redisUrl, BARE_JOBS, CLIENTS, log);
  const stopSubmitMeters = startMeters(meters);
  const placedBefore = customers.placed;
  const submits = await runClients({ clients: CLIENTS, warmUpMs: SUBMIT_MS / 5, measureMs: SUBMIT_MS }, () =>
    customers.submit(),
  );
  const submitUsed = perOperation(stopSubmitMeters(), customers.placed - placedBefore);
  await Promise.all([customers.close(), clock.close()]);
  return { steady, waits, rested, bare, submits, submitUsed, turnedAway: customers.turnedAway };
}

function rowsOf(
  {
    steady,
    waits,
    rested,
    bare,
    submits,
    submitUsed,
    turnedAway,
  }: Awaited<ReturnType<typeof measureService>>,
  media: Awaited<ReturnType<typeof measurePostprocess>>,
): BenchRow[] {
  return [
    {
      figure: `submits/s, ${CLIENTS} clients`,
      baseline: '',
      tollgate: submits.perSecond.toFixed(0),
      compared: `p50 / p99 ${submits.p50Ms.toFixed(1)} / ${submits.p99Ms.toFixed(1)} ms; ${turnedAway} asked to come back`,
    },
    processorRow('submit', submitUsed),
    {
      figure: `tasks/s from submit to result, ${ROUNDS} × ${TASKS} tasks, one after the other, after ${WARM_UP_TASKS} to warm up; baseline: BullMQ alone, add and process`,
      baseline: bare.toFixed(0),
      tollgate: spreadTextOf(steady.perSecond),
      compared: `${(spreadOf(steady.perSecond).median / bare).toFixed(3)} ×`,
    },
    processorRow('task', steady.used),
    {
      figure: `… the first ${TASKS} after ${PICK_UP_TASKS / PICK_UP_RATE} s at ${PICK_UP_RATE}/s`,
      baseline: '',
      tollgate: spreadTextOf(rested.perSecond),
      compared: `${sumOf(rested.used).toFixed(2)} ms of processor time each`,
    },
    {
      figure: `submit to start p50 / p99 at ${PICK_UP_RATE}/s, ${waits.tasks} tasks, two commits each; baseline: a commit of one row on the same disk meanwhile`,
      baseline: `${waits.commitP50Ms.toFixed(1)} / ${waits.commitP99Ms.toFixed(1)} ms`,
      tollgate: `${waits.p50Ms.toFixed(1)} / ${waits.p99Ms.toFixed(1)} ms`,
      compared: '',
    },
    ...media.map(({ name, perSecond: ours, directPerSecond }) => ({
      figure: `${name} post-processed/s; baseline: the same tools alone`,
      baseline: directPerSecond.toFixed(2),
      tollgate: ours.toFixed(2),
      compared: `${(ours / directPerSecond).toFixed(2)} ×`,
    })),
  ];
}

function processorRow(operation: string, used: readonly [string, number][]): BenchRow {
  return {
    figure: `processor time of one ${operation}, ms`,
    baseline: '',
    tollgate: sumOf(used).toFixed(2),
    compared: used.map(([name, ms]) => `${name} ${ms.toFixed(2)}`).join(', '),
  };
}

function sumOf(used: readonly [string, number][]): number {
  return used.reduce((sum, [, ms]) => sum + ms, 0);
}

function headlineOf({ steady: { perSecond, used } }: Awaited<ReturnType<typeof measureService>>): string {
  const workers = used.find(([name]) => name === 'workers')?.[1] ?? 0;
  return `An image of 256 × 256 costs **${workers.toFixed(2)}** ms of worker CPU, **${sumOf(used).toFixed(2)}** ms with all the rest: **${spreadTextOf(perSecond)}** tasks a second on ${cpus().length} cores.`;
}

try {
  const service = await measureService();
  const { ffmpeg, ffprobe } = findFfmpeg(process.env);
  const media = await measurePostprocess({ folder: join(folder, 'media-bench'), ffmpeg, ffprobe, quick });
  publishResult({
    conditions: `One API process, ${WORKERS} worker processes, fsync on; the engine answers at once with a PNG of 256 × 256, which is its own thumbnail.`,
    tables: [comparedTable(rowsOf(service, media))],
    headlines: { tasks: headlineOf(service) },
  });
} catch (error) {
  process.stderr.write(`${(error as Error).stack}\n`);
  process.exitCode = 1;
} finally {
  await Promise.all(children.map(stopProcess));
  await redis.stop();
  await postgres.stop();
  if (profiled) {
    for (const [name, profile] of Object.entries(profiles)) {
      const rows = profileSummary(profile).map(([place, share]) => [place, `${(share * 100).toFixed(1)} %`]);
      process.stdout.write(`\n${markdownTable([[`busy time of the ${name} process`, 'share'], ...rows])}\n`);
    }
  }
  if (kept) {
    process.stdout.write(`\nlogs and files: ${folder}\n`);
  } else {
    rmSync(folder, { recursive: true, force: true });
  }
}
