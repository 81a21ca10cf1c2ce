import { linkHeader } from '../http/answers/page.ts';
import { defineRoute, type Route } from '../http/route.ts';
import { publicId } from '../lib/ids.ts';
import { OPERATOR_ROUTE } from './operator-access.ts';
import { presentOperatorTask, presentOperatorTaskDetails } from './operator-tasks.presenter.ts';
import {
  listOperatorTasksQuery,
  operatorTaskListResponse,
  operatorTaskParams,
  operatorTaskResponse,
  retryTaskResponse,
} from './operator-tasks.schema.ts';
import { type OperatorTasksService, taskUuid } from './operator-tasks.service.ts';
import type { TaskRetryService } from './task-retry.service.ts';

/** `/admin/v1/tasks`. */
export function operatorTaskRoutes(tasks: OperatorTasksService, retries: TaskRetryService): Route[] {
  return [
    defineRoute({
      ...OPERATOR_ROUTE,
      method: 'get',
      path: '/admin/v1/tasks',
      operationId: 'listOperatorTasks',
      summary: 'List the tasks of all accounts, newest first',
      query: listOperatorTasksQuery,
      response: { status: 200, schema: operatorTaskListResponse },
      errors: ['invalid_cursor', 'account_not_found'],
      async handle({ query, url }) {
        const page = await tasks.list(query);
        return { headers: linkHeader(url, page.next), body: { data: page.rows.map(presentOperatorTask) } };
      },
    }),
    defineRoute({
      ...OPERATOR_ROUTE,
      method: 'get',
      path: '/admin/v1/tasks/{id}',
      operationId: 'getOperatorTask',
      summary: 'Get a task with its cost, attempts, engine and history',
      params: operatorTaskParams,
      response: { status: 200, schema: operatorTaskResponse },
      errors: ['task_not_found'],
      async handle({ params }) {
        const { row, history } = await tasks.get(params.id);
        return { body: { data: presentOperatorTaskDetails(row, history) } };
      },
    }),
    defineRoute({
      ...OPERATOR_ROUTE,
      method: 'post',
      path: '/admin/v1/tasks/{id}/retry',
      operationId: 'retryTask',
      summary:
        'Retry a failed task as a new task with its own hold; repeating the request creates no second task',
      params: operatorTaskParams,
      response: {
        status: 201,
        schema: retryTaskResponse,
        also: { 200: 'It had already been retried' },
      },
      errors: ['task_not_found', 'task_not_retryable', 'insufficient_credits', 'model_not_allowed'],
      idempotency: 'replay',
      async handle({ params, operator, requestId }) {
        const { id, created } = await retries.retry(taskUuid(params.id), { operator, requestId });
        const data = { id: publicId('generation', id), retry_of: params.id, created };
        return { status: created ? 201 : 200, body: { data } };
      },
    }),
  ];
}
