import { type NanoUsd, nanoUsd } from '../lib/money.ts';
import type { Cells } from '../store/cells.ts';
import { run } from '../store/statement.ts';
import type { TaskState } from '../tasks/task-state.ts';
import type { TaskKind } from '../tasks/tasks.types.ts';
import { noteTaskEvent, retryableTask } from './operator-tasks.sql.ts';

/** An ended task as the template of another. */
export interface RetrySource {
  readonly id: string;
  readonly accountId: string;
  readonly apiKeyId: string;
  readonly endpoint: string;
  readonly model: string;
  readonly kind: TaskKind;
  readonly pool: string;
  readonly state: TaskState;
  /** Null when the order is no longer stored. */
  readonly parameters: Readonly<Record<string, unknown>> | null;
  readonly seed: bigint;
  readonly charge: NanoUsd;
  readonly webhookUrl: string | null;
  readonly completedAt: Date | null;
  /** Null until the task is settled. */
  readonly priceVersion: string | null;
}

/** Reads failed tasks and writes the events that link them to their successors. */
export class TaskRetryStore {
  readonly #cells: Cells;

  constructor(cells: Cells) {
    this.#cells = cells;
  }

  async find(taskId: string): Promise<RetrySource | undefined> {
    const [row] = await run<RetryRow>(this.#cells.ofOwned(taskId).money, retryableTask, [taskId]);
    return (
      row && {
        id: row.id,
        accountId: row.account_id,
        apiKeyId: row.api_key_id,
        endpoint: row.endpoint,
        model: row.model,
        kind: row.kind,
        pool: row.pool,
        state: row.state,
        parameters: row.parameters,
        seed: BigInt(row.seed),
        charge: nanoUsd(row.charge),
        webhookUrl: row.webhook_url,
        completedAt: row.completed_at,
        priceVersion: row.price_version,
      }
    );
  }

  /** Adds an event to a task's history unless it already contains the same text. */
  async note(taskId: string, detail: string): Promise<void> {
    await run(this.#cells.ofOwned(taskId).money, noteTaskEvent, [taskId, detail]);
  }
}

interface RetryRow {
  id: string;
  account_id: string;
  api_key_id: string;
  endpoint: string;
  model: string;
  kind: TaskKind;
  pool: string;
  state: TaskState;
  parameters: Record<string, unknown> | null;
  seed: string;
  charge: string;
  webhook_url: string | null;
  completed_at: Date | null;
  price_version: string | null;
}
