import type { Worker } from 'bullmq';

/**
 * Why a queue's jobs are left alone: its engine is away, an operator drains the host, the host is about to be taken away, or
 * another pool currently has the memory of the GPU.
 */
export type ClosedBy = 'engine' | 'operator' | 'notice' | 'memory';

/** The consumer of a queue's jobs. */
export type GatedQueue = Pick<Worker, 'name' | 'pause' | 'resume'>;

/**
 * Decides which queues a process takes jobs from. A queue is open while nothing keeps it closed; closing it does not stop running
 * jobs.
 */
export class QueueGates {
  readonly #workers: ReadonlyMap<string, GatedQueue>;
  readonly #closedBy = new Map<string, Set<ClosedBy>>();
  readonly #onError: (error: Error, queue: string) => void;

  constructor(workers: readonly GatedQueue[], onError: (error: Error, queue: string) => void) {
    this.#workers = new Map(workers.map((worker) => [worker.name, worker]));
    this.#onError = onError;
  }

  isOpen(queue: string): boolean {
    return (this.#closedBy.get(queue)?.size ?? 0) === 0;
  }

  /** Whether the queue's jobs are taken here, at once or in turn with those of other pools. */
  isServed(queue: string): boolean {
    return [...(this.#closedBy.get(queue) ?? [])].every((reason) => reason === 'memory');
  }

  /** Whether this reason keeps all queues closed. */
  isClosedBy(reason: ClosedBy): boolean {
    return (
      this.#workers.size > 0 &&
      [...this.#workers.keys()].every((queue) => this.#closedBy.get(queue)?.has(reason))
    );
  }

  set(queue: string, reason: ClosedBy, isClosed: boolean): void {
    const worker = this.#workers.get(queue);
    if (!worker) {
      return;
    }
    const wasOpen = this.isOpen(queue);
    const reasons = this.#closedBy.get(queue) ?? new Set();
    this.#closedBy.set(queue, reasons);
    if (isClosed) {
      reasons.add(reason);
    } else {
      reasons.delete(reason);
    }
    const isOpen = reasons.size === 0;
    if (wasOpen && !isOpen) {
      worker.pause(true).catch((error: Error) => this.#onError(error, queue));
    } else if (isOpen && !wasOpen) {
      worker.resume().catch((error: Error) => this.#onError(error, queue));
    }
  }

  /** Does the same for every queue of the process. */
  setAll(reason: ClosedBy, isClosed: boolean): void {
    for (const queue of this.#workers.keys()) {
      this.set(queue, reason, isClosed);
    }
  }
}
