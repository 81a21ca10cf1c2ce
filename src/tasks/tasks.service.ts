import { decodeCursor, UUID_PART } from '../http/answers/cursor.ts';
import { cutPage, type Page } from '../http/answers/page.ts';
import type { TaskOutput } from '../ledger/ledger.types.ts';
import type { Clock } from '../lib/clock.ts';
import { AppError } from '../lib/errors.ts';
import type { StopSignal } from '../lib/stop-signal.ts';
import type { Storage } from '../media/storage.types.ts';
import type { TaskContentQuery, TaskListQuery } from './native-tasks.schema.ts';
import type { QueueEstimate, QueueEstimates } from './queue-estimates.ts';
import type { AccountScope, TaskReadsStore, TaskScope } from './task-reads.store.ts';
import { taskNotFound } from './task-request.ts';
import type { TaskRetentionStore } from './task-retention.store.ts';
import { isTerminal } from './task-state.ts';
import type { TaskWaiter } from './task-waiter.ts';
import type { TaskLinks, TaskView } from './tasks.types.ts';

export interface TaskDetails {
  readonly task: TaskView;
  readonly outputs: readonly TaskOutput[];
  readonly estimate: QueueEstimate;
  readonly links: TaskLinks;
}

const NO_LINKS: TaskLinks = { content: null, thumbnail: null, poster: null };
/** Seconds for which a task keeps the same links, so that browsers keep what they loaded; the links are valid for at least as long. */
const LINKS_SECONDS = 900;
/** Largest page with links: signing for buckets is work, and longer pages and exports are not meant for viewing. */
const LINKED_TASKS_MAX = 100;

const CONTENT_URL_TTL_SECONDS = 3_600;
const NO_ESTIMATE: QueueEstimate = { queuePosition: null, etaSeconds: 0 };

/** The native view of tasks: list, get, delete, content. */
export class TasksService {
  readonly #reads: TaskReadsStore;
  readonly #retention: Pick<TaskRetentionStore, 'deleteTask'>;
  readonly #estimates: QueueEstimates;
  readonly #storage: Pick<Storage, 'signedUrl' | 'delete'>;
  readonly #waiter: TaskWaiter;
  readonly #clock: Clock;

  constructor(
    reads: TaskReadsStore,
    retention: Pick<TaskRetentionStore, 'deleteTask'>,
    estimates: QueueEstimates,
    storage: Pick<Storage, 'signedUrl' | 'delete'>,
    waiter: TaskWaiter,
    clock: Clock,
  ) {
    this.#clock = clock;
    this.#waiter = waiter;
    this.#reads = reads;
    this.#retention = retention;
    this.#estimates = estimates;
    this.#storage = storage;
  }

  /** Returns a task. Throws AppError task_not_found. */
  async get(taskId: string, scope: TaskScope): Promise<TaskDetails> {
    const task = await this.#find(taskId, scope);
    const [outputs, estimate] = await Promise.all([this.#outputs(task), this.#estimates.estimate(task)]);
    return { task, outputs, estimate, links: await this.#links(task, outputs) };
  }

  /**
   * Returns the task when it has ended, after `waitMs`, or when the signal aborts, whichever is first. Throws AppError
   * task_not_found.
   */
  async getWhenEnded(
    taskId: string,
    scope: TaskScope,
    waitMs: number,
    signal: StopSignal,
  ): Promise<TaskDetails> {
    const task = await this.#find(taskId, scope);
    if (!task.completedAt) {
      await this.#waiter.wait(taskId, waitMs, signal);
    }
    return await this.get(taskId, scope);
  }

  /** Lists tasks, newest first, without their queue positions: {@link get} has those. Throws AppError invalid_cursor. */
  async list(scope: AccountScope, query: TaskListQuery): Promise<Page<TaskDetails>> {
    const [beforeId = null] = query.cursor ? decodeCursor(query.cursor, [UUID_PART]) : [];
    const tasks = await this.#reads.listTasks({
      scope,
      beforeId,
      states: query.status ?? null,
      model: query.model ?? null,
      createdAfter: query.created_after ?? null,
      createdBefore: query.created_before ?? null,
      kind: query.kind ?? null,
      apiKeyHash: query.api_key_hash ?? null,
      limit: query.limit + 1,
    });
    const page = cutPage(tasks, query.limit, (task) => [task.id]);
    const outputs = await this.#reads.listOutputs(page.rows.map((task) => task.id));
    const isLinked = query.limit <= LINKED_TASKS_MAX;
    const rows = await Promise.all(
      page.rows.map(async (task) => {
        const files = outputs.get(task.id) ?? [];
        const links = isLinked ? await this.#links(task, files) : NO_LINKS;
        return { task, outputs: files, estimate: NO_ESTIMATE, links };
      }),
    );
    return { rows, next: page.next };
  }

  /** Deletes an ended task and its files now. Throws AppError task_not_found, task_not_cancelable while it is live. */
  async delete(taskId: string, scope: TaskScope): Promise<void> {
    const task = await this.#find(taskId, scope);
    if (!isTerminal(task.state)) {
      throw new AppError(
        'task_not_cancelable',
        'A task that has not ended cannot be deleted; cancel it first.',
      );
    }
    // Files before the row: an interrupted deletion can be requested again.
    for (const output of await this.#outputs(task)) {
      await this.#storage.delete(output.storageKey);
    }
    await this.#retention.deleteTask(task.id, task.accountId);
  }

  /**
   * Returns a fresh URL of one file. Throws AppError task_not_found, task_not_finished while it runs, media_expired,
   * media_not_found (no such index or variant, or a task that ended without a result).
   */
  async contentUrl(taskId: string, scope: TaskScope, query: TaskContentQuery): Promise<string> {
    const task = await this.#find(taskId, scope);
    if (this.#isExpired(task)) {
      throw new AppError('media_expired', 'The files of this task have expired.');
    }
    if (!isTerminal(task.state)) {
      throw new AppError('task_not_finished', 'The task has no content yet: it has not finished.');
    }
    if (task.state !== 'succeeded') {
      throw new AppError('media_not_found', `The task has no content: it ended as ${task.state}.`);
    }
    const output = (await this.#outputs(task)).find(
      ({ index, variant }) => index === query.index && variant === query.variant,
    );
    if (!output) {
      throw new AppError('media_not_found', 'The task has no such file.');
    }
    return await this.#storage.signedUrl(output.storageKey, { ttlSeconds: CONTENT_URL_TTL_SECONDS });
  }

  async #links(task: TaskView, outputs: readonly TaskOutput[]): Promise<TaskLinks> {
    if (this.#isExpired(task)) {
      return NO_LINKS;
    }
    const seconds = Math.floor(this.#clock.now() / 1_000);
    const ttlSeconds = 2 * LINKS_SECONDS - (seconds % LINKS_SECONDS);
    const link = async (variant: TaskOutput['variant']) => {
      const output = outputs.find((file) => file.index === 0 && file.variant === variant);
      return output ? await this.#storage.signedUrl(output.storageKey, { ttlSeconds }) : null;
    };
    const [content, thumbnail, poster] = await Promise.all([
      link('original'),
      link('thumbnail'),
      link('poster'),
    ]);
    return { content, thumbnail, poster };
  }

  #isExpired({ mediaDeletedAt, mediaExpiresAt }: TaskView): boolean {
    return (
      mediaDeletedAt !== null || (mediaExpiresAt !== null && mediaExpiresAt.getTime() <= this.#clock.now())
    );
  }

  async #find(taskId: string, scope: TaskScope): Promise<TaskView> {
    const task = await this.#reads.findTask(taskId, scope);
    if (!task) {
      throw taskNotFound();
    }
    return task;
  }

  async #outputs(task: TaskView): Promise<readonly TaskOutput[]> {
    return (await this.#reads.listOutputs([task.id])).get(task.id) ?? [];
  }
}
