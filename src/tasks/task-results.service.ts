import type { TaskOutput } from '../ledger/ledger.types.ts';
import type { StopSignal } from '../lib/stop-signal.ts';
import type { Storage } from '../media/storage.types.ts';
import type { QueueEstimate, QueueEstimates } from './queue-estimates.ts';
import type { TaskReadsStore, TaskScope } from './task-reads.store.ts';
import { taskNotFound } from './task-request.ts';
import type { TaskWaiter } from './task-waiter.ts';
import type { TaskView } from './tasks.types.ts';

/** Seconds for which a signed URL of a result is valid; each read makes a new one. */
export const RESULT_URL_TTL_SECONDS = 3_600;
/** Maximum bytes of an image that is answered as text. */
const BASE64_BYTES_MAX = 32 * 1024 * 1024;

export interface ResultMedia {
  readonly index: number;
  /** `png`, `jpeg`, `mp4`, … */
  readonly type: string;
  /** A signed URL, or the bytes as plain base64. */
  readonly content: string;
  /** Seconds; 0 for base64. */
  readonly ttlSeconds: number;
}

/** A task with everything that clients see of it. */
export interface TaskResult {
  readonly task: TaskView;
  readonly media: readonly ResultMedia[];
  readonly estimate: QueueEstimate;
}

/** Reads results: the task, its media with fresh URLs, and its place in the queue. */
export class TaskResultsService {
  readonly #reads: TaskReadsStore;
  readonly #storage: Pick<Storage, 'signedUrl' | 'read'>;
  readonly #estimates: QueueEstimates;
  readonly #waiter: TaskWaiter;

  constructor(
    reads: TaskReadsStore,
    storage: Pick<Storage, 'signedUrl' | 'read'>,
    estimates: QueueEstimates,
    waiter: TaskWaiter,
  ) {
    this.#reads = reads;
    this.#storage = storage;
    this.#estimates = estimates;
    this.#waiter = waiter;
  }

  /** Returns the current result. Throws AppError task_not_found, also for a task outside the scope. */
  async read(taskId: string, scope: TaskScope): Promise<TaskResult> {
    const task = await this.#reads.findTask(taskId, scope);
    if (!task) {
      throw taskNotFound();
    }
    const [media, estimate] = await Promise.all([this.#media(task), this.#estimates.estimate(task)]);
    return { task, media, estimate };
  }

  /** Returns the result when the task has ended, or after `waitMs` at the latest. Throws like {@link read}. */
  async readWhenEnded(
    taskId: string,
    scope: TaskScope,
    waitMs: number,
    signal: StopSignal,
  ): Promise<TaskResult> {
    const now = await this.#reads.findTask(taskId, scope);
    if (!now) {
      throw taskNotFound();
    }
    if (!now.completedAt) {
      await this.#waiter.wait(taskId, waitMs, signal);
    }
    return await this.read(taskId, scope);
  }

  async #media(task: TaskView): Promise<ResultMedia[]> {
    if (task.state !== 'succeeded' || task.mediaDeletedAt) {
      return [];
    }
    const outputs = (await this.#reads.listOutputs([task.id])).get(task.id) ?? [];
    const originals = outputs.filter((output) => output.variant === 'original');
    return await Promise.all(originals.map((output) => this.#present(task, output)));
  }

  async #present(task: TaskView, output: TaskOutput): Promise<ResultMedia> {
    const type = output.mediaType.slice(output.mediaType.indexOf('/') + 1);
    if (task.base64Output && output.bytes <= BASE64_BYTES_MAX) {
      return { index: output.index, type, content: await this.#base64(output), ttlSeconds: 0 };
    }
    const content = await this.#storage.signedUrl(output.storageKey, { ttlSeconds: RESULT_URL_TTL_SECONDS });
    return { index: output.index, type, content, ttlSeconds: RESULT_URL_TTL_SECONDS };
  }

  /** Encodes the file on each read: neither Redis nor Postgres ever holds an image. */
  async #base64(output: TaskOutput): Promise<string> {
    const chunks: Buffer[] = [];
    for await (const chunk of await this.#storage.read(output.storageKey)) {
      chunks.push(chunk as Buffer);
    }
    return Buffer.concat(chunks).toString('base64');
  }
}
