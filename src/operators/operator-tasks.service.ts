import { decodeCursor, UUID_PART } from '../http/answers/cursor.ts';
import { cutPage, type Page } from '../http/answers/page.ts';
import { AppError } from '../lib/errors.ts';
import { parsePublicId } from '../lib/ids.ts';
import { accountUuid } from './accounts.service.ts';
import type { OperatorTaskRow, OperatorTasksReadModel, TaskEventRow } from './operator-tasks.read-model.ts';
import type { ListOperatorTasksQuery } from './operator-tasks.schema.ts';

export interface OperatorTaskDetails {
  readonly row: OperatorTaskRow;
  readonly history: readonly TaskEventRow[];
}

/** Tasks of all accounts, for operators. */
export class OperatorTasksService {
  readonly #readModel: OperatorTasksReadModel;

  constructor(readModel: OperatorTasksReadModel) {
    this.#readModel = readModel;
  }

  /** Returns a task. Throws AppError task_not_found. */
  async get(id: string): Promise<OperatorTaskDetails> {
    const uuid = taskUuid(id);
    const [row, history] = await Promise.all([this.#readModel.find(uuid), this.#readModel.history(uuid)]);
    if (!row) {
      throw taskNotFound();
    }
    return { row, history };
  }

  /** Lists tasks, newest first. Throws AppError account_not_found, invalid_cursor. */
  async list(query: ListOperatorTasksQuery): Promise<Page<OperatorTaskRow>> {
    const [beforeId = null] = query.cursor === undefined ? [] : decodeCursor(query.cursor, [UUID_PART]);
    const rows = await this.#readModel.list({
      accountId: query.account_id === undefined ? null : accountUuid(query.account_id),
      state: query.state ?? null,
      beforeId,
      limit: query.limit + 1,
    });
    return cutPage(rows, query.limit, (row) => [row.id]);
  }
}

/** Parses a task's public id into its stored id. Throws AppError task_not_found. */
export function taskUuid(id: string): string {
  const uuid = parsePublicId('generation', id);
  if (uuid === undefined) {
    throw taskNotFound();
  }
  return uuid;
}

function taskNotFound(): AppError {
  return new AppError('task_not_found', 'There is no such task.');
}
