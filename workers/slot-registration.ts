import type { TaskDispatchStore } from '../src/tasks/task-dispatch.store.ts';

const HEARTBEAT_MS = 5_000;

/** Tells the relays, as long as the process lives, how much it can run. */
export class SlotRegistration {
  readonly #store: TaskDispatchStore;
  readonly #worker: string;
  readonly #slots: () => ReadonlyMap<string, number>;
  readonly #onError: (error: unknown) => void;
  readonly #timer: NodeJS.Timeout;
  #beating: Promise<void>;

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
    this.#beating = this.#beat();
    this.#timer = setInterval(() => {
      this.#beating = this.#beat();
    }, HEARTBEAT_MS);
    this.#timer.unref();
  }

  /** Tells at once what has changed. */
  renew(): void {
    this.#beating = this.#beating.then(() => this.#beat());
  }

  /** Removes this worker's slots. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#beating;
    await this.#store.forgetWorker(this.#worker).catch(this.#onError);
  }

  async #beat(): Promise<void> {
    await this.#store.registerSlots(this.#worker, this.#slots()).catch(this.#onError);
  }
}
