import type { CancelPublisher } from '../../queues/cancel-channel.ts';
import { AppError } from '../lib/errors.ts';
import type { TaskEndings } from './task-endings.ts';
import type { TaskReadsStore, TaskScope } from './task-reads.store.ts';
import { taskNotFound } from './task-request.ts';
import { isTerminal, type TaskState } from './task-state.ts';
import type { TaskSweepStore } from './task-sweep.store.ts';
import type { CancelablePools } from './tasks.types.ts';

/** `canceled`: the task is over and its hold released; `requested`: its worker has been told to stop. */
export type CancelOutcome = 'canceled' | 'requested';

export interface CancelDependencies {
  readonly reads: Pick<TaskReadsStore, 'findTask'>;
  readonly sweeps: Pick<TaskSweepStore, 'requestCancel'>;
  readonly endings: Pick<TaskEndings, 'cancel'>;
  readonly publisher: CancelPublisher;
  readonly pools: CancelablePools;
}

/** Cancels tasks on any host: sets the flag in the row, then sends a message. Either is enough. */
export class CancelTaskService {
  readonly #dependencies: CancelDependencies;

  constructor(dependencies: CancelDependencies) {
    this.#dependencies = dependencies;
  }

  /** Cancels a task. Idempotent. Throws AppError task_not_found (also for other accounts' tasks), task_not_cancelable. */
  async cancel(taskId: string, scope: TaskScope): Promise<CancelOutcome> {
    const { reads, sweeps, endings, publisher, pools } = this.#dependencies;
    const task = await reads.findTask(taskId, scope);
    if (!task) {
      throw taskNotFound();
    }
    const flagged = await sweeps.requestCancel(taskId, task.accountId, pools);
    if (!flagged) {
      return await this.#answerUncanceled(taskId, scope);
    }
    // With the flag set no worker can claim the task, so a waiting one keeps waiting until this ends it.
    const outcome = await endings.cancel(flagged, { attempt: null, from: ['queued', 'generated'] });
    if (outcome === 'settled') {
      return 'canceled';
    }
    if (outcome === 'closed') {
      return await this.#answerUncanceled(taskId, scope);
    }
    await publisher.publish(taskId);
    return 'requested';
  }

  /** Answers for a task that has ended in the meantime, by a cancel or otherwise, or that cannot be stopped. */
  async #answerUncanceled(taskId: string, scope: TaskScope): Promise<CancelOutcome> {
    const task = await this.#dependencies.reads.findTask(taskId, scope);
    if (!task) {
      throw taskNotFound();
    }
    if (task.state === 'canceled') {
      return 'canceled';
    }
    throw new AppError('task_not_cancelable', `The task cannot be canceled: ${whyNot(task.state)}.`);
  }
}

function whyNot(state: TaskState): string {
  if (isTerminal(state)) {
    return `it has already ended (${state})`;
  }
  return state === 'generating' ? 'its engine cannot stop a run' : 'its run is done, and its files follow';
}
