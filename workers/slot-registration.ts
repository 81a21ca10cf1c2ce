import { every, type Loop } from '../src/lib/every.ts';
import type { TaskDispatchStore } from '../src/tasks/task-dispatch.store.ts';

const HEARTBEAT_MS = 5_000;

/** Tells the relays, as long as the process lives, how much it can run. */
export class SlotRegistration {
  readonly #store: TaskDispatchStore;
  readonly #worker: string;
  readonly #slots: () => ReadonlyMap<string, number>;
  readonly #onError: (error: unknown) => void;
  readonly #heartbeat: Loop;

  /** Starts at once. */
  constructor(
    store: TaskDispatchStore,
    worker: string,
    slots: () => ReadonlyMap<string, number>,
    onError: (error: unknown) => void,
  ) {
    this.#store = store;
    this.#worker = worker;
    this.#slots = slots;
    this.#onError = onError;
    this.#heartbeat = every(HEARTBEAT_MS, () => this.#beat());
    void this.#heartbeat.runNow();
  }

  /** Tells at once what has changed. */
  renew(): void {
    void this.#heartbeat.runNow();
  }

  /** Removes this worker's slots. */
  async close(): Promise<void> {
    await this.#heartbeat.close();
    await this.#store.forgetWorker(this.#worker).catch(this.#onError);
  }

  async #beat(): Promise<void> {
    await this.#store.registerSlots(this.#worker, this.#slots()).catch(this.#onError);
  }
}
