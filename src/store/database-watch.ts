import { every, type Loop } from '../lib/every.ts';
import type { Database } from './database.ts';
import { DatabaseClock } from './database-clock.ts';
import { readRows } from './report.ts';
import type { SqlStatement } from './statement.ts';
import { run } from './statement.ts';

/** Interval between checks, in ms: a moved address is noticed within it. */
const EVERY_MS = 5_000;
/** How long the last result is valid, in ms. */
const FRESH_MS = 15_000;

const serverSeen: SqlStatement = {
  name: 'server_seen',
  text: `SELECT extract(epoch FROM pg_postmaster_start_time())::text AS run,
                (SELECT oid::text FROM pg_database WHERE datname = current_database()) AS database`,
};

interface ServerSeen {
  readonly run: string;
  readonly database: string;
}

export interface DatabaseState {
  /** Whether the server accepts writes. */
  readonly writable: boolean;
  /** Whether both pools answered from the same server and database as a new connection. */
  readonly pools: boolean;
  /** This host's clock minus the server's, in ms; undefined until the first check. */
  readonly skewMs: number | undefined;
}

/**
 * Opens a new connection every few seconds, because only a new one shows where the address leads now. The other connections thereby
 * learn that the server changed, and readiness learns that it accepts no writes, that a pool is stuck or that the clocks differ.
 */
export class DatabaseWatch {
  readonly #database: Database;
  readonly #onFailure: (error: unknown) => void;
  readonly #clock: DatabaseClock;
  #writableAt = Number.NEGATIVE_INFINITY;
  #poolsAt = Number.NEGATIVE_INFINITY;
  #loop: Loop | undefined;

  /** `clock` learns the time from each check. */
  constructor(database: Database, onFailure: (error: unknown) => void, clock = new DatabaseClock()) {
    this.#database = database;
    this.#onFailure = onFailure;
    this.#clock = clock;
  }

  get state(): DatabaseState {
    const isFresh = (at: number) => performance.now() - at < FRESH_MS;
    return { writable: isFresh(this.#writableAt), pools: isFresh(this.#poolsAt), skewMs: this.#clock.skewMs };
  }

  /** Checks once, then repeatedly until closed. */
  async start(): Promise<void> {
    this.#loop = every(EVERY_MS, () => this.#look());
    await this.#loop.runNow();
  }

  async close(): Promise<void> {
    await this.#loop?.close();
  }

  async #look(): Promise<void> {
    const client = this.#database.openClient({ application_name: 'tollgate-watch' });
    try {
      await client.connect();
      const askedAt = performance.now();
      const { rows } = await client.query<{ now: number }>(
        'SELECT extract(epoch FROM clock_timestamp())::double precision * 1000 AS now',
      );
      if (rows[0] !== undefined) {
        this.#clock.learn(rows[0].now, askedAt, performance.now());
      }
      if (client.server?.isReadOnly === false) {
        this.#writableAt = performance.now();
      }
      const { money, sequelize } = this.#database;
      const [[own], [reports]] = await Promise.all([
        run<ServerSeen>(money, serverSeen, []),
        readRows<ServerSeen>(sequelize, serverSeen, []),
      ]);
      const isHere = (seen: ServerSeen | undefined) =>
        seen?.run === client.server?.run && seen?.database === client.server?.databaseId;
      if (isHere(own) && isHere(reports)) {
        this.#poolsAt = performance.now();
      }
    } catch (error) {
      this.#onFailure(error);
    } finally {
      await client.end().catch(() => undefined);
    }
  }
}
