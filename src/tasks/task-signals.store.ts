import type pg from 'pg';

/** Channel on which the database announces that rows wait for a queue; the queue's name is the payload. */
export const TASK_CHANNEL = 'tollgate_tasks';
const QUERY_TIMEOUT_MS = 3_000;
const RECONNECT_MS_MAX = 2_000;

/**
 * Listens for queues that have rows waiting, on its own connection to Postgres. Signals get lost while it reconnects: listeners
 * need a sweep as a safety net, and each reconnect reports that any queue may have rows.
 */
export class TaskSignalsStore {
  readonly #open: (options: pg.ClientConfig) => pg.Client;
  readonly #onWaiting: (queue: string | undefined) => void;
  readonly #onError: (error: unknown) => void;
  #client: pg.Client | undefined;
  #retry: NodeJS.Timeout | undefined;
  #failures = 0;
  #closed = false;

  /** Connects in the background with a client from `open`. `onWaiting` gets the queue's name, or undefined for any. */
  constructor(
    open: (options: pg.ClientConfig) => pg.Client,
    onWaiting: (queue: string | undefined) => void,
    onError: (error: unknown) => void,
  ) {
    this.#open = open;
    this.#onWaiting = onWaiting;
    this.#onError = onError;
    void this.#connect();
  }

  /** Stops listening. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#retry);
    await this.#client?.end().catch(() => undefined);
  }

  async #connect(): Promise<void> {
    const client = this.#open({
      query_timeout: QUERY_TIMEOUT_MS,
      application_name: 'tollgate-signals',
    });
    this.#client = client;
    let broken = false;
    const onBroken = (error: unknown): void => {
      if (!broken && !this.#closed) {
        broken = true;
        this.#onError(error);
        client.end().catch(() => undefined);
        this.#reconnectLater();
      }
    };
    client.on('error', onBroken);
    client.on('end', () => onBroken(new Error('the notification connection ended')));
    client.on('notification', ({ payload }) => this.#onWaiting(payload || undefined));
    try {
      await client.connect();
      await client.query(`LISTEN ${TASK_CHANNEL}`);
      this.#failures = 0;
      this.#onWaiting(undefined);
    } catch (error) {
      onBroken(error);
    }
  }

  #reconnectLater(): void {
    this.#failures += 1;
    const waitMs = Math.min(50 * 2 ** this.#failures, RECONNECT_MS_MAX);
    this.#retry = setTimeout(() => void this.#connect(), waitMs);
    this.#retry.unref();
  }
}
