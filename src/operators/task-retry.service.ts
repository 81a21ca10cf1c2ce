import type { Ledger } from '../ledger/ledger.types.ts';
import { AppError } from '../lib/errors.ts';
import { namedOwnedUuid, namedUuid, publicId } from '../lib/ids.ts';
import type { AuditStore } from './audit.store.ts';
import type { OperatorContext } from './operator-access.ts';
import type { RetrySource, TaskRetryStore } from './task-retry.store.ts';

/** Prefixes by which the event logs of two tasks refer to each other. */
export const RETRY_OF = 'retry_of ';
export const RETRIED_AS = 'retried_as ';

export interface RetrySettings {
  /** Ms after the retry at which the new task fails unless it has finished. */
  readonly deadlineMs: (task: Pick<RetrySource, 'model' | 'kind' | 'pool'>) => number;
}

export interface RetriedTask {
  /** Stored id of the new task. */
  readonly id: string;
  /** False when an earlier retry created it. */
  readonly created: boolean;
}

/**
 * Rejections caused by the customer's state, not the operator's mistake. They are reported as such, never as a 401 of the
 * operator.
 */
const CUSTOMER_REFUSALS = ['invalid_api_key', 'key_disabled', 'key_expired', 'account_suspended'];

/**
 * Orders the work of a failed task again. Terminal states are final and the money of the failed task has been released, so the
 * retry is a new task with a new hold, at the original price. Its id is derived from the old one: however often and from wherever
 * a task is retried, there is one successor and one hold.
 */
export class TaskRetryService {
  readonly #store: TaskRetryStore;
  readonly #ledger: Pick<Ledger, 'reserve'>;
  readonly #audit: AuditStore;
  readonly #settings: RetrySettings;

  constructor(
    store: TaskRetryStore,
    ledger: Pick<Ledger, 'reserve'>,
    audit: AuditStore,
    settings: RetrySettings,
  ) {
    this.#store = store;
    this.#ledger = ledger;
    this.#audit = audit;
    this.#settings = settings;
  }

  /**
   * Retries a failed task by its stored id. Throws AppError task_not_found, task_not_retryable (not failed, prompt deleted, key
   * or account disabled), insufficient_credits, key_limit_exceeded, model_not_allowed.
   */
  async retry(taskId: string, act: OperatorContext): Promise<RetriedTask> {
    const source = await this.#store.find(taskId);
    if (!source) {
      throw new AppError('task_not_found', 'There is no such task.');
    }
    const { completedAt } = source;
    if (source.state !== 'failed' || completedAt === null) {
      throw new AppError(
        'task_not_retryable',
        `Only failed tasks can be retried; this one is ${source.state}.`,
      );
    }
    const [successor, earlier] = successorIds(source, completedAt);
    const id = (await this.#store.find(earlier)) === undefined ? successor : earlier;
    const created = (await this.#store.find(id)) === undefined;
    const [retryOf, retriedAs] = [publicId('generation', source.id), publicId('generation', id)];
    const request = created ? this.#requestOf(source, id, act.requestId) : undefined;
    // first, because the hold is made elsewhere: money never moves for an act that is not in the log
    await this.#audit.append({
      action: 'task.retry',
      object: retryOf,
      ...act,
      detail: { retried_as: retriedAs, created },
    });
    if (request) {
      await this.#ledger.reserve(request).catch((error: unknown) => {
        throw customerRefusal(error);
      });
    }
    await this.#store.note(source.id, RETRIED_AS + retriedAs);
    await this.#store.note(id, RETRY_OF + retryOf);
    return { id, created };
  }

  #requestOf(source: RetrySource, id: string, requestId: string): Parameters<Ledger['reserve']>[0] {
    const { parameters, priceVersion, kind } = source;
    if (parameters === null || priceVersion === null) {
      throw new AppError(
        'task_not_retryable',
        'The content of the order was deleted when the task ended (KEEP_PROMPTS=no); the customer must order it again.',
      );
    }
    return {
      id,
      accountId: source.accountId,
      apiKeyId: source.apiKeyId,
      requestId,
      endpoint: source.endpoint,
      model: source.model,
      priceVersion,
      amount: source.charge,
      minimum: source.charge,
      task: {
        kind,
        pool: source.pool,
        parameters,
        seed: source.seed,
        webhookUrl: source.webhookUrl,
        deadlineMs: this.#settings.deadlineMs(source),
      },
    };
  }
}

function customerRefusal(error: unknown): unknown {
  return error instanceof AppError && CUSTOMER_REFUSALS.includes(error.code)
    ? new AppError('task_not_retryable', `The customer cannot order now: ${error.message}`, { cause: error })
    : error;
}

/**
 * Returns the ids of the successor, which depend only on the task and the time it failed. The second is the id that releases
 * created before ids contained buckets.
 */
function successorIds({ id, accountId }: RetrySource, failedAt: Date): readonly [string, string] {
  const name = `retry of ${id}`;
  const successor = namedOwnedUuid(name, accountId, failedAt.getTime());
  const [bucketStart, bucketEnd] = [17, 20];
  const digits = namedUuid(name).replaceAll('-', '');
  return [successor, successor.slice(0, bucketStart - bucketEnd) + digits.slice(bucketStart, bucketEnd)];
}
