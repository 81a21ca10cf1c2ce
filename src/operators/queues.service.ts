import { QueueUnavailableError } from '../../queues/producer.ts';
import type { QueueInspector, QueueState } from '../../queues/queue-inspector.ts';
import { AppError } from '../lib/errors.ts';
import type { AuditStore } from './audit.store.ts';
import type { OperatorAct } from './operator-access.ts';

const RETRY_AFTER_SECONDS = 5;

/** The queues, as an operator stops and starts them. Throws AppError service_unavailable while Redis is away. */
export class QueuesService {
  readonly #inspector: Pick<QueueInspector, 'list' | 'find' | 'pause' | 'resume'>;
  readonly #audit: AuditStore;

  constructor(inspector: Pick<QueueInspector, 'list' | 'find' | 'pause' | 'resume'>, audit: AuditStore) {
    this.#inspector = inspector;
    this.#audit = audit;
  }

  list(): Promise<QueueState[]> {
    return available(() => this.#inspector.list());
  }

  /** Lets no worker take jobs of the queue; what runs goes on. Throws AppError queue_not_found. */
  pause(name: string, act: OperatorAct): Promise<QueueState> {
    return this.#change('queue.pause', name, act, () => this.#inspector.pause(name));
  }

  /** Throws AppError queue_not_found. */
  resume(name: string, act: OperatorAct): Promise<QueueState> {
    return this.#change('queue.resume', name, act, () => this.#inspector.resume(name));
  }

  async #change(
    action: string,
    name: string,
    act: OperatorAct,
    change: () => Promise<boolean>,
  ): Promise<QueueState> {
    if (!(await available(change))) {
      throw queueNotFound();
    }
    await this.#audit.append({ ...act, action, object: name, detail: {} });
    const state = await available(() => this.#inspector.find(name));
    if (!state) {
      throw queueNotFound();
    }
    return state;
  }
}

async function available<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof QueueUnavailableError) {
      throw new AppError('service_unavailable', 'The queues cannot be reached at the moment.', {
        retryAfterSeconds: RETRY_AFTER_SECONDS,
        cause: error,
      });
    }
    throw error;
  }
}

function queueNotFound(): AppError {
  return new AppError('queue_not_found', 'There is no such queue.');
}
