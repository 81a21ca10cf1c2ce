import { every, type Loop } from '../src/lib/every.ts';
import type { TaskDispatchStore } from '../src/tasks/task-dispatch.store.ts';
import type { WorkerReport, WorkersStore } from '../src/tasks/workers.store.ts';

const HEARTBEAT_MS = 5_000;

export interface RegistrationParts {
  readonly dispatch: Pick<TaskDispatchStore, 'registerSlots' | 'forgetWorker'>;
  readonly workers: Pick<WorkersStore, 'report' | 'remove'>;
  /** Returns the current state of the process. */
  readonly report: () => WorkerReport;
  /** Returns how many jobs it can run at once now, by queue. */
  readonly slots: () => ReadonlyMap<string, number>;
  /** Called before the slots are reported, with whether an operator has drained the host. Returns whether that is a change. */
  readonly onDrained: (isDrained: boolean) => boolean;
  readonly onError: (error: unknown) => void;
  /** Ms between two reports. */
  readonly heartbeatMs?: number | undefined;
}

/** Reports to operators that the process is alive, and to the relays how many jobs it can run. */
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

  /** Reports a change at once. */
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
