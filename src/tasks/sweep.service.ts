import type { Logger } from '../lib/logger.ts';
import { fromAnywhere, type TaskEndings } from './task-endings.ts';
import type { EndableTask, TaskSweepStore } from './task-sweep.store.ts';

const BATCH = 200;
/** Maximum batches per sweep; the next sweep continues with the rest. */
const BATCHES_MAX = 20;

export interface SweepCounts {
  readonly lapsed: number;
  readonly overdue: number;
  readonly canceled: number;
}

/** Repairs what failures leave behind: leases of lost workers, tasks past their deadline, unfinished cancels. */
export class SweepService {
  readonly #store: TaskSweepStore;
  readonly #endings: TaskEndings;
  readonly #log: Logger;

  constructor(store: TaskSweepStore, endings: TaskEndings, log: Logger) {
    this.#store = store;
    this.#endings = endings;
    this.#log = log;
  }

  /** Makes one pass. Concurrent passes are harmless: every change is guarded. */
  async sweep(): Promise<SweepCounts> {
    const lapsed = await this.#store.lapseLeases(BATCH * BATCHES_MAX);
    const canceled = await this.#endAll(
      () => this.#store.findCanceling(BATCH),
      (task) => this.#endings.cancel(task, { attempt: null, from: ['queued', 'generated'] }),
    );
    const overdue = await this.#endAll(
      () => this.#store.findOverdue(BATCH),
      (task) =>
        this.#endings.fail(task, fromAnywhere('failed'), {
          code: 'deadline_exceeded',
          message: 'the task was not finished in time',
        }),
    );
    if (lapsed + canceled + overdue > 0) {
      this.#log.info({ lapsed, canceled, overdue }, 'tasks swept');
    }
    return { lapsed, canceled, overdue };
  }

  async #endAll(
    find: () => Promise<EndableTask[]>,
    end: (task: EndableTask) => Promise<unknown>,
  ): Promise<number> {
    let ended = 0;
    for (let batch = 0; batch < BATCHES_MAX; batch += 1) {
      const found = await find();
      await Promise.all(found.map(end));
      ended += found.length;
      if (found.length < BATCH) {
        break;
      }
    }
    return ended;
  }
}
