import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { migrateUp } from '../../migrations/migrate.ts';
import { startEmbeddedPostgres } from '../../ops/embedded/embedded-postgres.ts';
import { ownTemporaryFolder } from '../../test/factories/temporary-folder.ts';

export interface BenchPostgres {
  /** Application role, as in production. */
  readonly url: string;
  readonly ownerUrl: string;
  /** Process id of the postmaster. */
  readonly pid: number;
  stop(): Promise<void>;
}

/** Starts a migrated Postgres with fsync on, in a temporary folder. */
export async function startBenchPostgres(): Promise<BenchPostgres> {
  const folder = ownTemporaryFolder('bench-postgres');
  const postgres = await startEmbeddedPostgres({
    dataDir: folder,
    durable: true,
    logFile: join(folder, 'postgres.log'),
  });
  const applicationRole = decodeURIComponent(new URL(postgres.databaseUrl).username);
  await migrateUp({ ownerUrl: postgres.ownerUrl, applicationRole });
  return {
    url: postgres.databaseUrl,
    ownerUrl: postgres.ownerUrl,
    pid: postgres.pid,
    stop: async () => {
      await postgres.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
