import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { logSize } from '../../ops/embedded/service-log.ts';

/** Time until all sessions apply the new log settings, in ms. */
const SETTLE_MS = 500;
const STATEMENT = /^\d{4}-.*? LOG: {2}(statement:|execute )/gm;

/** Counters that only grow. */
export interface DatabaseCounts {
  readonly statements: number;
  readonly walBytes: number;
}

/** Reads what Postgres has done so far. From `countStatements` on, its log records each statement. */
export class DatabaseCounter {
  readonly #owner: pg.Client;
  readonly #logFile: string;
  #statementsFrom: number | undefined;

  private constructor(owner: pg.Client, logFile: string) {
    this.#owner = owner;
    this.#logFile = logFile;
  }

  static async open(ownerUrl: string, logFile: string): Promise<DatabaseCounter> {
    const owner = new pg.Client({ connectionString: ownerUrl });
    await owner.connect();
    // the counter's own queries are not counted
    await owner.query(`SET log_statement = 'none'`);
    return new DatabaseCounter(owner, logFile);
  }

  /** Logs every statement from now on. This slows Postgres down, so take timings first. */
  async countStatements(): Promise<void> {
    await this.#owner.query(`ALTER SYSTEM SET log_statement = 'all'`);
    await this.#owner.query('ALTER SYSTEM SET log_parameter_max_length = 0');
    await this.#owner.query('SELECT pg_reload_conf()');
    await delay(SETTLE_MS);
    this.#statementsFrom = logSize(this.#logFile);
  }

  async read(): Promise<DatabaseCounts> {
    const { rows } = await this.#owner.query<{ bytes: string }>(
      `SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') AS bytes`,
    );
    const from = this.#statementsFrom;
    const log = from === undefined ? '' : readFileSync(this.#logFile).subarray(from).toString('utf8');
    return { walBytes: Number(rows[0]!.bytes), statements: log.match(STATEMENT)?.length ?? 0 };
  }

  /** Reads the WAL fsyncs so far. Sessions report them late: the count is exact only when nothing was written for 11 s. */
  async readFsyncs(): Promise<number> {
    const { rows: version } = await this.#owner.query<{ number: string }>(
      `SELECT current_setting('server_version_num') AS number`,
    );
    const query =
      Number(version[0]!.number) >= 180_000
        ? `SELECT sum(fsyncs) AS fsyncs FROM pg_stat_io WHERE object = 'wal'`
        : 'SELECT wal_sync AS fsyncs FROM pg_stat_wal';
    const { rows } = await this.#owner.query<{ fsyncs: string }>(query);
    return Number(rows[0]!.fsyncs);
  }

  async close(): Promise<void> {
    await this.#owner.end();
  }
}
