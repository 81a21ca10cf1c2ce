import type pg from 'pg';

/** `waiting`: a task became ready for a queue; `ended`: one reached its final state. */
export type TaskSignal = 'waiting' | 'ended';

const CHANNELS: Readonly<Record<string, TaskSignal>> = {
  tollgate_tasks: 'waiting',
  tollgate_task_ended: 'ended',
};
const CONNECT_TIMEOUT_MS = 3_000;
const RECONNECT_MS_MAX = 2_000;

/**
 * Hears Postgres's notifications about tasks on a connection of its own. Signals get lost while it reconnects: whoever
 * listens needs a sweep as a net, and is told `waiting` after each reconnect.
 */
export class TaskSignalsStore {
  readonly #open: (options: pg.ClientConfig) => pg.Client;
  readonly #onSignal: (signal: TaskSignal) => void;
  readonly #onError: (error: unknown) => void;
  #client: pg.Client | undefined;
  #retry: NodeJS.Timeout | undefined;
  #failures = 0;
  #closed = false;

  /** Connects in the background, by what `open` makes. */
  constructor(
    open: (options: pg.ClientConfig) => pg.Client,
    onSignal: (signal: TaskSignal) => void,
    onError: (error: unknown) => void,
  ) {
    this.#open = open;
    this.#onSignal = onSignal;
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
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      query_timeout: CONNECT_TIMEOUT_MS,
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
    client.on('notification', (message) => {
      const signal = CHANNELS[message.channel];
      if (signal) {
        this.#onSignal(signal);
      }
    });
    try {
      await client.connect();
      for (const channel of Object.keys(CHANNELS)) {
        await client.query(`LISTEN ${channel}`);
      }
      this.#failures = 0;
      this.#onSignal('waiting');
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
