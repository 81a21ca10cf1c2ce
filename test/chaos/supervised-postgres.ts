import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../ops/embedded/embedded-postgres.ts';
import { isAlive } from '../../ops/embedded/process-identity.ts';
import { guardServices } from '../setup/test-services.ts';
import { type ChaosDatabase, createDatabase } from './services.ts';

const LOOK_EVERY_MS = 500;

/** A Postgres in its own folder that is restarted whenever it ends, as a service supervisor does. */
export interface SupervisedPostgres {
  createDatabase(): Promise<ChaosDatabase>;
  /** Counts a word in the server's log since the start, e.g. `PANIC`. */
  said(word: string): number;
  /** Number of restarts. */
  readonly revivals: () => number;
  /** Stops it and removes the folder. */
  close(): Promise<void>;
}

/** Starts Postgres in `folder`. `logFolder` is on another disk: the log must remain readable when the folder's disk is full. */
export async function startSupervisedPostgres(
  folder: string,
  logFolder: string,
): Promise<SupervisedPostgres> {
  const release = guardServices(folder);
  const logFile = join(logFolder, 'postgres-of-its-own.log');
  const options = { dataDir: folder, durable: true, logFile };
  let postgres: EmbeddedPostgres = await startEmbeddedPostgres(options);
  let revivals = 0;
  let isClosed = false;
  const supervise = async () => {
    while (!isClosed) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
      if (!isClosed && !isAlive(postgres.pid)) {
        // it cannot start while the disk is still full, and is tried again
        const revived = await startEmbeddedPostgres(options).catch(() => undefined);
        revivals += revived ? 1 : 0;
        postgres = revived ?? postgres;
      }
    }
  };
  const supervision = supervise();
  return {
    createDatabase: () => createDatabase(postgres.ownerUrl, postgres.databaseUrl),
    said: (word) => readFileSync(logFile, 'utf8').split(word).length - 1,
    revivals: () => revivals,
    close: async () => {
      isClosed = true;
      await supervision;
      await release();
    },
  };
}
