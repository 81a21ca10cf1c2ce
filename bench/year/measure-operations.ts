import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { CallArchives } from '../../src/ledger/call-archives.ts';
import type { Database } from '../../src/store/database.ts';
import { ownTemporaryFolder } from '../../test/factories/temporary-folder.ts';
import { percentile } from '../measure/clients.ts';
import { startReportServer } from '../reports/server.ts';
import { proveAll } from './measure-books.ts';
import { seconds } from './stopwatch.ts';
import type { Year } from './write-year.ts';
import type { YearPostgres } from './year-postgres.ts';

const BACKUP_SCRIPTS = fileURLToPath(new URL('../../ops/backup', import.meta.url));
const SAMPLES = 50;
const ACT = { actor: 'bench', request_id: null, action: 'archive.month', object: 'calls' };
const YEAR_DAYS = 364;
const DAY_MS = 86_400_000;

/** Runs `VACUUM (ANALYZE)` over everything and returns its seconds. Rethrows Postgres errors. */
export async function vacuum(ownerUrl: string): Promise<number> {
  const client = new pg.Client({ connectionString: ownerUrl });
  await client.connect();
  const [, took] = await seconds(() => client.query('VACUUM (ANALYZE)'));
  await client.end();
  return took;
}

export interface Packing {
  readonly seconds: number;
  /** Bytes of the month's calls, entries and roll-ups, with their indexes. */
  readonly bytesBefore: number;
  readonly bytesAfter: number;
}

/** Packs the oldest month, as `tollgate archive pack` does. Rethrows Postgres errors. */
export async function packMonth(ownerUrl: string, { firstMonth }: Year): Promise<Packing> {
  const [packed, took] = await seconds(() =>
    CallArchives.as(ownerUrl, (archives) => archives.pack(firstMonth)),
  );
  return {
    seconds: took,
    bytesBefore: packed.reduce((sum, { bytesBefore }) => sum + bytesBefore, 0),
    bytesAfter: packed.reduce((sum, { bytesAfter }) => sum + bytesAfter, 0),
  };
}

/** Packs the other past months of the year. Rethrows Postgres errors. */
export async function packOtherMonths(ownerUrl: string): Promise<void> {
  await CallArchives.as(ownerUrl, (archives) => archives.packDue());
}

export interface Archiving {
  readonly exportSeconds: number;
  readonly dropSeconds: number;
  readonly restoreSeconds: number;
  /** Size of the file. */
  readonly bytes: number;
  /** Seconds of full proofs without the month's calls, and with them restored. */
  readonly proofWithoutSeconds: number;
  readonly proofAfterSeconds: number;
}

/**
 * Exports the calls of the oldest month, drops and restores them, and proves the books after each step. Rejects when the books are wrong.
 */
export async function archiveMonth(
  postgres: YearPostgres,
  database: Database,
  year: Year,
): Promise<Archiving> {
  const folder = ownTemporaryFolder('bench-year-archive');
  try {
    return await CallArchives.as(postgres.ownerUrl, async (archives) => {
      const [archive, exportSeconds] = await seconds(() => archives.export(year.firstMonth, folder));
      const [, dropSeconds] = await seconds(() => archives.drop(year.firstMonth, folder, ACT));
      const without = await proveAll(database);
      const [, restoreSeconds] = await seconds(() => archives.restore(year.firstMonth, folder, ACT));
      const after = await proveAll(database);
      return {
        ...{ exportSeconds, dropSeconds, restoreSeconds, bytes: Number(archive.bytes) },
        ...{ proofWithoutSeconds: without.seconds, proofAfterSeconds: after.seconds },
      };
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

export interface Backup {
  readonly backupSeconds: number;
  readonly restoreSeconds: number;
  /** Size of the dump. */
  readonly bytes: number;
}

/** Backs up the database with the shipped script, restores it into another one, and compares every balance. */
export async function backUpAndRestore(postgres: YearPostgres): Promise<Backup> {
  const folder = ownTemporaryFolder('bench-year-backup');
  const script = (name: string, url: string, ...args: readonly string[]) =>
    seconds(() => postgres.run(join(BACKUP_SCRIPTS, name), args, { DATABASE_OWNER_URL: url }));
  try {
    const [, backupSeconds] = await script('backup.sh', postgres.ownerUrl, folder);
    const name = (await readdir(folder)).find((file) => file.endsWith('.dump'))!;
    const { size } = await stat(join(folder, name));
    const restored = await postgres.createDatabase('restored');
    const [, restoreSeconds] = await script('restore.sh', restored, '--wipe', join(folder, name));
    await postgres.dropDatabase('restored');
    return { backupSeconds, restoreSeconds, bytes: size };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Reports and their paths; YEAR stands for a year ago. */
const REPORTS: readonly (readonly [string, string])[] = [
  ['usage by day, a year', '/api/v1/usage?start_time=YEAR&limit=1000'],
  ['costs by model, a year', '/api/v1/costs?start_time=YEAR&group_by=model&limit=1000'],
  ['activity, a year', '/api/v1/activity?start_time=YEAR&limit=1000'],
  ['transactions', '/api/v1/billing/balance-transactions'],
  ['transactions of a key', '/api/v1/billing/balance-transactions?api_key_hash=HASH'],
];

/** Measures the p95 of each report of the largest account, in ms, by name. Rejects when a report does not answer 200. */
export async function measureReports(url: string, year: Year): Promise<ReadonlyMap<string, number>> {
  const server = await startReportServer(url);
  const since = new Date((Math.floor(Date.now() / DAY_MS) - YEAR_DAYS) * DAY_MS).toISOString();
  const { secret, keyHash } = year.largest;
  const found = new Map<string, number>();
  try {
    for (const [name, template] of REPORTS) {
      const path = template.replace('YEAR', since).replace('HASH', keyHash);
      const latencies: number[] = [];
      for (let index = 0; index < SAMPLES; index += 1) {
        const [, took] = await seconds(async () => {
          const response = await fetch(server.url + path, { headers: { authorization: `Bearer ${secret}` } });
          await response.arrayBuffer();
          if (response.status !== 200) {
            throw new Error(`${path}: ${response.status}`);
          }
        });
        latencies.push(took * 1_000);
      }
      const sorted = latencies.sort((one, other) => one - other);
      found.set(name, percentile(sorted, 0.95));
    }
    return found;
  } finally {
    await server.close();
  }
}
