import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { percentile } from '../measure/clients.ts';

const LOOK_MS = 200;

/** Reads from the tasks' rows when they were taken and when they ended: the database's clock, for all processes alike. */
export class TaskClock {
  readonly #client: pg.Client;

  private constructor(client: pg.Client) {
    this.#client = client;
  }

  static async open(databaseUrl: string): Promise<TaskClock> {
    const client = new pg.Client({ connectionString: databaseUrl });
    // A server that is stopped after a failure must not hide the failure.
    client.on('error', () => undefined);
    await client.connect();
    return new TaskClock(client);
  }

  /** Now, as a mark: the other methods look at tasks submitted after it. */
  async mark(): Promise<string> {
    const { rows } = await this.#client.query<{ now: string }>('SELECT clock_timestamp()::text AS now');
    return rows[0]!.now;
  }

  /** Waits until every task since the mark has ended. Throws when one has failed. */
  async untilEnded(since: string): Promise<void> {
    for (;;) {
      const { rows } = await this.#client.query<{ open: number; failed: number }>(
        `SELECT count(*) FILTER (WHERE completed_at IS NULL)::integer AS open,
                count(*) FILTER (WHERE state IN ('failed', 'canceled'))::integer AS failed
           FROM tasks WHERE created_at >= $1`,
        [since],
      );
      if (rows[0]!.failed > 0) {
        throw new Error(`${rows[0]!.failed} tasks failed`);
      }
      if (rows[0]!.open === 0) {
        return;
      }
      await delay(LOOK_MS);
    }
  }

  /** Tasks per second from the first submit to the last end. */
  async perSecond(since: string): Promise<number> {
    const { rows } = await this.#client.query<{ rate: number }>(
      `SELECT (count(*) / extract(epoch FROM max(completed_at) - min(created_at)))::float8 AS rate
         FROM tasks WHERE created_at >= $1`,
      [since],
    );
    return rows[0]!.rate;
  }

  /** Ms from submit to the claim by a worker. */
  async pickUp(since: string): Promise<{ p50Ms: number; p99Ms: number; tasks: number }> {
    const { rows } = await this.#client.query<{ ms: number }>(
      `SELECT (extract(epoch FROM started_at - created_at) * 1000)::float8 AS ms
         FROM tasks WHERE created_at >= $1 ORDER BY 1`,
      [since],
    );
    const sorted = rows.map((row) => row.ms);
    return { p50Ms: percentile(sorted, 0.5), p99Ms: percentile(sorted, 0.99), tasks: sorted.length };
  }

  async close(): Promise<void> {
    await this.#client.end();
  }
}
