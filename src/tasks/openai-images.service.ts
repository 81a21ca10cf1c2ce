import { AppError } from '../lib/errors.ts';
import { publicId } from '../lib/ids.ts';
import { pause } from '../lib/pause.ts';
import type { CancelTaskService } from './cancel-task.service.ts';
import type { SubmitContext } from './submit-task.service.ts';
import { scopeOf } from './task-request.ts';
import type { TaskResult, TaskResultsService } from './task-results.service.ts';
import type { TaskView } from './tasks.types.ts';

/** Maximum ms that a caller waits: the official SDKs give up after ten minutes. */
const WAIT_MS = 9 * 60_000;
/** Ms of one wait; a call makes several. */
const LOOK_MS = 30_000;
/** Ms before the next wait if the process already holds its maximum of waits and answered at once. */
const REST_MS = 1_000;

export interface ImageDependencies {
  readonly results: Pick<TaskResultsService, 'readWhenEnded'>;
  readonly cancels: Pick<CancelTaskService, 'cancel'>;
}

/** Images for callers that wait for them: an ordinary task, with its result as the answer. */
export class OpenAiImagesService {
  readonly #deps: ImageDependencies;

  constructor(deps: ImageDependencies) {
    this.#deps = deps;
  }

  /**
   * Returns the result of the task that `order` submits (resolving to the task's id, a UUID) when it has succeeded; undefined when
   * the caller has left, in which case the task is canceled. Throws AppError: what the order throws, the reason of a failed task,
   * or provider_timeout when it takes too long (then it is canceled, too).
   */
  async draw(order: () => Promise<string>, context: SubmitContext): Promise<TaskResult | undefined> {
    const { signal } = context;
    const id = await order();
    const result = await this.#whenEnded(id, context);
    if (result.task.state === 'succeeded') {
      return result;
    }
    if (result.task.completedAt) {
      throw failureOf(result.task);
    }
    const goesOn = !(await this.#cancel(id, context));
    if (signal.aborted) {
      return undefined;
    }
    const rest = goesOn
      ? `it is still running: GET /api/v1/tasks/${publicId('generation', id)}`
      : 'it was canceled and costs nothing';
    throw new AppError('provider_timeout', `the image took longer than ${WAIT_MS / 60_000} minutes; ${rest}`);
  }

  async #whenEnded(id: string, { principal, signal }: SubmitContext): Promise<TaskResult> {
    const until = performance.now() + WAIT_MS;
    for (;;) {
      const result = await this.#deps.results.readWhenEnded(id, scopeOf(principal), LOOK_MS, signal);
      if (result.task.completedAt || signal.aborted || performance.now() >= until) {
        return result;
      }
      await pause(REST_MS, signal);
    }
  }

  /** Returns false when the task's engine cannot stop it, or it has just ended. */
  async #cancel(id: string, { principal }: SubmitContext): Promise<boolean> {
    try {
      await this.#deps.cancels.cancel(id, scopeOf(principal));
      return true;
    } catch (error) {
      if (error instanceof AppError && error.code === 'task_not_cancelable') {
        return false;
      }
      throw error;
    }
  }
}

function failureOf({ errorCode, errorMessage }: TaskView): AppError {
  const told = errorMessage ?? 'the image could not be made';
  switch (errorCode) {
    case 'content_refused':
    case 'upstream_rejected':
      return new AppError('invalid_request', told);
    case 'task_canceled':
      return new AppError('task_not_finished', 'the task was canceled before it had finished', {
        shouldRetry: false,
      });
    case 'deadline_exceeded':
    case 'engine_timeout':
      return new AppError('provider_timeout', told);
    default:
      return new AppError('provider_error', told);
  }
}
