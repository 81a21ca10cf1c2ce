import { every, type Loop } from '../src/lib/every.ts';
import type { TaskDispatchStore } from '../src/tasks/task-dispatch.store.ts';
import type { WorkerReport, WorkersStore } from '../src/tasks/workers.store.ts';

const HEARTBEAT_MS = 5_000;

export interface RegistrationParts {
  readonly dispatch: Pick<TaskDispatchStore, 'registerSlots' | 'forgetWorker'>;
  readonly workers: Pick<WorkersStore, 'report' | 'remove'>;
  /** What the process says of itself now. */
  readonly report: () => WorkerReport;
  /** What it can run at once now, by queue. */
  readonly slots: () => ReadonlyMap<string, number>;
  /** Hears, before the slots are told, whether an operator has drained the host. Says whether that is news. */
  readonly onDrained: (isDrained: boolean) => boolean;
  readonly onError: (error: unknown) => void;
  /** Ms between two reports. */
  readonly heartbeatMs?: number | undefined;
}

/** Tells operators that the process lives, and the relays how much it can run. */
export class SlotRegistration {
  readonly #parts: RegistrationParts;
  readonly #worker: string;
  readonly #heartbeat: Loop;

  /** Starts at once. */
  constructor(parts: RegistrationParts) {
    this.#parts = parts;
    this.#worker = parts.report().worker;
    this.#heartbeat = every(parts.heartbeatMs ?? HEARTBEAT_MS, () => this.#beat());
    void this.#heartbeat.runNow();
  }

  /** Tells at once what has changed. */
  renew(): void {
    void this.#heartbeat.runNow();
  }

  /** Removes this worker. */
  async close(): Promise<void> {
    await this.#heartbeat.close();
    const { dispatch, workers, onError } = this.#parts;
    await Promise.all([dispatch.forgetWorker(this.#worker), workers.remove(this.#worker)]).catch(onError);
  }

  async #beat(): Promise<void> {
    const { dispatch, workers, report, slots, onDrained, onError } = this.#parts;
    try {
      if (onDrained(await workers.report(report()))) {
        await workers.report(report());
      }
      await dispatch.registerSlots(this.#worker, slots());
    } catch (error) {
      onError(error);
    }
  }
}
