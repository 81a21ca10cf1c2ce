import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import type pg from 'pg';
import type { Inspector } from '../measure/inspector.ts';
import { processorMs } from '../measure/processor-time.ts';

/** One reading of everything that might grow, by name. */
export type Readings = Record<string, number>;

export interface ObservedProcess {
  readonly name: 'api' | 'worker';
  readonly pid: number;
  readonly inspector: Inspector;
}

export interface ProbedParts {
  readonly processes: readonly ObservedProcess[];
  readonly url: string;
  readonly adminToken: string;
  readonly database: pg.Pool;
  readonly redis: Redis;
  readonly folder: string;
  readonly redisPid: number;
}

/** Tables whose size shows what an installation keeps. Partitions count toward their parent. */
const TABLES = [
  'generations',
  'ledger_entries',
  'holds',
  'balances',
  'api_keys',
  'checkout_sessions',
  'usage_rollups',
  'idempotency_keys',
  'tasks',
  'task_events',
  'webhook_deliveries',
  'worker_slots',
] as const;

/** Takes one reading. With `collected`, it first collects the heaps, which blocks each process for about 100 ms. */
export async function readAll(parts: ProbedParts, collected: boolean): Promise<Readings> {
  const readings: Readings = {};
  for (const observed of parts.processes) {
    Object.assign(readings, await readProcess(observed, collected));
  }
  Object.assign(readings, await readMetrics(parts), await readDatabase(parts.database));
  Object.assign(readings, await readRedis(parts), readFiles(parts.folder));
  return readings;
}

async function readProcess({ name, pid, inspector }: ObservedProcess, collected: boolean): Promise<Readings> {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1');
  const memory = (await inspector.evaluate('process.memoryUsage()')) as NodeJS.MemoryUsage;
  return {
    ...(collected && { [`${name} heap`]: await inspector.collectedHeap() }),
    [`${name} external`]: memory.external,
    [`${name} rss`]: Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) * 1_024,
    [`${name} fds`]: readdirSync(`/proc/${pid}/fd`).length,
    [`${name} cpu ms`]: processorMs(pid),
  };
}

async function readMetrics({ url, adminToken }: ProbedParts): Promise<Readings> {
  const answer = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${adminToken}` } });
  const text = await answer.text();
  const value = (pattern: RegExp) =>
    [...text.matchAll(pattern)].reduce((sum, [, found]) => sum + Number(found), 0);
  return {
    'metrics series': text.split('\n').filter((line) => line !== '' && !line.startsWith('#')).length,
    'loop p99 ms': value(/^nodejs_eventloop_lag_p99_seconds (\S+)/gm) * 1_000,
    'rate decisions local': value(/^tollgate_rate_limit_decisions_total\{.*store="local".*\} (\S+)/gm),
    'rate decisions': value(/^tollgate_rate_limit_decisions_total\{.*\} (\S+)/gm),
  };
}

async function readDatabase(database: pg.Pool): Promise<Readings> {
  const { rows: sizes } = await database.query<{ name: string; bytes: string }>(
    `SELECT t.name, (SELECT sum(pg_total_relation_size(p.relid))
                       FROM (SELECT relid FROM pg_partition_tree(to_regclass(t.name))
                             UNION SELECT to_regclass(t.name)) p) AS bytes
       FROM unnest($1::text[]) t (name)`,
    [TABLES],
  );
  const { rows: facts } = await database.query<Record<string, string>>(
    `SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') AS "wal bytes",
            (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()) AS "pg connections",
            (SELECT count(*) FROM holds) AS "open holds",
            (SELECT count(*) FROM api_keys) AS "api_keys rows",
            d.xact_rollback AS "pg rollbacks", d.deadlocks AS "pg deadlocks", d.temp_files AS "pg temp files"
       FROM pg_stat_database d WHERE d.datname = current_database()`,
  );
  const readings = Object.entries(facts[0] ?? {}).map(([name, value]) => [name, Number(value)]);
  return Object.fromEntries([
    ...sizes.map(({ name, bytes }) => [`table ${name}`, Number(bytes)]),
    ...readings,
  ]);
}

async function readRedis({ redis, redisPid }: ProbedParts): Promise<Readings> {
  const info = await redis.info();
  const value = (name: string) => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0);
  return {
    'redis memory': value('used_memory'),
    'redis keys': await redis.dbsize(),
    'redis append-only file': value('aof_current_size'),
    'redis cpu ms': processorMs(redisPid),
  };
}

function readFiles(folder: string): Readings {
  const count = (path: string): { files: number; bytes: number } => {
    let [files, bytes] = [0, 0];
    for (const entry of readdirSync(path, { withFileTypes: true, recursive: true })) {
      if (entry.isFile()) {
        files += 1;
        bytes += sizeOf(join(entry.parentPath ?? entry.path, entry.name));
      }
    }
    return { files, bytes };
  };
  const media = count(join(folder, 'data'));
  return {
    'media files': media.files,
    'media bytes': media.bytes,
    'temporary files': count(join(folder, 'tmp')).files,
    'api log bytes': sizeOf(join(folder, 'api.log')),
    'worker log bytes': sizeOf(join(folder, 'worker.log')),
  };
}

function sizeOf(path: string): number {
  try {
    return statSync(path).size;
  } catch {
    return 0;
  }
}
