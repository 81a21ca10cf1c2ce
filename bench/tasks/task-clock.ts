import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { percentile } from '../measure/clients.ts';

const LOOK_MS = 200;

/** Reads from the rows of the tasks when they were taken and when they ended: by the database's clock, the same for all processes. */
export class TaskClock {
  readonly #pool: pg.Pool;

  private constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  static async open(databaseUrl: string): Promise<TaskClock> {
    const pool = new pg.Pool({ connectionString: databaseUrl, max: 2 });
    // A server that is stopped after a failure must not hide the failure.
    pool.on('error', () => undefined);
    await pool.query('CREATE TABLE bench_commits (id integer PRIMARY KEY, at timestamptz)');
    await pool.query('INSERT INTO bench_commits VALUES (1, now())');
    return new TaskClock(pool);
  }

  /** Returns the current time as a mark. The other methods look at tasks submitted after it. */
  async mark(): Promise<string> {
    const { rows } = await this.#pool.query<{ now: string }>('SELECT clock_timestamp()::text AS now');
    return rows[0]!.now;
  }

  /** Waits until every task has ended. Throws when one submitted since the mark has failed. */
  async untilEnded(since: string): Promise<void> {
    while (await this.#isAnyOpen()) {
      await delay(LOOK_MS);
    }
    const { rows } = await this.#pool.query<{ failed: number }>(
      "SELECT count(*)::integer AS failed FROM tasks WHERE created_at >= $1 AND state IN ('failed', 'canceled')",
      [since],
    );
    if (rows[0]!.failed > 0) {
      throw new Error(`${rows[0]!.failed} tasks failed`);
    }
  }

  /** Looks for any open task through an index: counting all of them took Postgres 14 ms, which would distort the measurement. */
  async #isAnyOpen(): Promise<boolean> {
    const states = ['queued', 'generating', 'generated', 'processing'];
    const any = states.map((state) => `EXISTS (SELECT FROM tasks WHERE state = '${state}')`).join(' OR ');
    const { rows } = await this.#pool.query<{ open: boolean }>(`SELECT ${any} AS open`);
    return rows[0]!.open;
  }

  /** Returns the tasks per second from the first submit to the last end. */
  async perSecond(since: string): Promise<number> {
    const { rows } = await this.#pool.query<{ rate: number }>(
      `SELECT (count(*) / extract(epoch FROM max(completed_at) - min(created_at)))::float8 AS rate
         FROM tasks WHERE created_at >= $1`,
      [since],
    );
    return rows[0]!.rate;
  }

  /** Returns the ms that Postgres needs to change one small row durably: the current speed of the disk. */
  async commitMs(): Promise<number> {
    const startedAt = performance.now();
    await this.#pool.query('UPDATE bench_commits SET at = clock_timestamp() WHERE id = 1');
    return performance.now() - startedAt;
  }

  /** Returns the percentiles of the time from submit to the claim by a worker, in ms. */
  async pickUp(since: string): Promise<{ p50Ms: number; p99Ms: number; tasks: number }> {
    const { rows } = await this.#pool.query<{ ms: number }>(
      `SELECT (extract(epoch FROM started_at - created_at) * 1000)::float8 AS ms
         FROM tasks WHERE created_at >= $1 ORDER BY 1`,
      [since],
    );
    const sorted = rows.map((row) => row.ms);
    return { p50Ms: percentile(sorted, 0.5), p99Ms: percentile(sorted, 0.99), tasks: sorted.length };
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }
}
