import { QueueUnavailableError } from '../../queues/producer.ts';
import type { QueueInspector, QueueState } from '../../queues/queue-inspector.ts';
import { AppError } from '../lib/errors.ts';
import type { AuditStore } from './audit.store.ts';
import type { OperatorContext } from './operator-access.ts';
import type { QueueBacklog, QueuesReadModel } from './queues.read-model.ts';

const RETRY_AFTER_SECONDS = 5;

/** A queue in Redis, with its state in the database. */
export type StandingQueue = QueueState & { readonly standing: QueueBacklog };

/** Lets operators pause and resume the queues. Throws AppError service_unavailable while Redis is unreachable. */
export class QueuesService {
  readonly #inspector: Pick<QueueInspector, 'list' | 'find' | 'pause' | 'resume'>;
  readonly #readModel: Pick<QueuesReadModel, 'standings'>;
  readonly #audit: AuditStore;

  constructor(
    inspector: Pick<QueueInspector, 'list' | 'find' | 'pause' | 'resume'>,
    readModel: Pick<QueuesReadModel, 'standings'>,
    audit: AuditStore,
  ) {
    this.#inspector = inspector;
    this.#readModel = readModel;
    this.#audit = audit;
  }

  async list(): Promise<StandingQueue[]> {
    const [queues, standingOf] = await Promise.all([
      available(() => this.#inspector.list()),
      this.#readModel.standings(),
    ]);
    return queues.map((queue) => ({ ...queue, standing: standingOf(queue.name) }));
  }

  /** Stops workers from taking jobs of the queue; running jobs finish. Throws AppError queue_not_found. */
  pause(name: string, act: OperatorContext): Promise<StandingQueue> {
    return this.#change('queue.pause', name, act, () => this.#inspector.pause(name));
  }

  /** Lets workers take jobs of the queue again. Throws AppError queue_not_found. */
  resume(name: string, act: OperatorContext): Promise<StandingQueue> {
    return this.#change('queue.resume', name, act, () => this.#inspector.resume(name));
  }

  async #change(
    action: string,
    name: string,
    act: OperatorContext,
    change: () => Promise<boolean>,
  ): Promise<StandingQueue> {
    if (!(await available(() => this.#inspector.find(name)))) {
      throw queueNotFound();
    }
    // Redis knows no transaction with the log: an entry without its act is better than an act without its entry
    await this.#audit.append({ ...act, action, object: name, detail: {} });
    if (!(await available(change))) {
      throw queueNotFound();
    }
    const state = await available(() => this.#inspector.find(name));
    if (!state) {
      throw queueNotFound();
    }
    const standingOf = await this.#readModel.standings();
    return { ...state, standing: standingOf(name) };
  }
}

async function available<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof QueueUnavailableError) {
      throw new AppError('service_unavailable', 'The queues are currently unreachable.', {
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
