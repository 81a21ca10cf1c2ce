import { z } from 'zod';
import { exportable } from '../http/answers/csv-export.ts';
import { linkHeader } from '../http/answers/page.ts';
import { defineRoute, type Route } from '../http/route.ts';
import { publicId } from '../lib/ids.ts';
import type { CancelTaskService } from './cancel-task.service.ts';
import { presentTask } from './native-task.presenter.ts';
import {
  TASK_CANCEL_RESPONSE,
  TASK_CONTENT_QUERY,
  TASK_DELETE_RESPONSE,
  TASK_LIST_QUERY,
  TASK_LIST_RESPONSE,
  TASK_PARAMS,
  TASK_RESPONSE,
} from './native-tasks.schema.ts';
import { PREFER_WAIT, PREFERENCE_APPLIED, preferenceApplied, preferredWaitMs } from './prefer-wait.ts';
import { scopeOf, taskIdOf } from './task-request.ts';
import type { TasksService } from './tasks.service.ts';

const NO_BODY = z.object({});

/** `/api/v1/tasks`: the native view, with actual states, amounts, cancel and files. */
export function nativeTaskRoutes(tasks: TasksService, cancels: CancelTaskService): Route[] {
  return [listRoute(tasks), getRoute(tasks), cancelRoute(cancels), deleteRoute(tasks), contentRoute(tasks)];
}

function listRoute(tasks: TasksService): Route {
  return exportable(
    defineRoute({
      method: 'get',
      path: '/api/v1/tasks',
      operationId: 'listTasks',
      summary: 'List tasks, newest first',
      tag: 'Tasks',
      access: 'inference',
      envelope: 'data',
      query: TASK_LIST_QUERY,
      response: { status: 200, schema: TASK_LIST_RESPONSE },
      errors: ['invalid_cursor'],
      async handle({ principal, query, url }) {
        const page = await tasks.list(scopeOf(principal), query);
        const data = page.rows.map(presentTask);
        return { headers: linkHeader(url, page.next), body: { data } };
      },
    }),
  );
}

function getRoute(tasks: TasksService): Route {
  return defineRoute({
    method: 'get',
    path: '/api/v1/tasks/{id}',
    operationId: 'getTask',
    summary: 'Get a task; with Prefer: wait=N (up to 30 seconds) the answer waits until the task has ended',
    tag: 'Tasks',
    access: 'inference',
    envelope: 'data',
    params: TASK_PARAMS,
    requestHeaders: { Prefer: PREFER_WAIT },
    response: { status: 200, schema: TASK_RESPONSE, headers: PREFERENCE_APPLIED },
    errors: ['task_not_found'],
    async handle({ principal, params, headers, signal }) {
      const id = taskIdOf(params.id);
      const scope = scopeOf(principal);
      const waitMs = preferredWaitMs(headers.prefer);
      const details =
        waitMs > 0 ? await tasks.getWhenEnded(id, scope, waitMs, signal) : await tasks.get(id, scope);
      return { headers: preferenceApplied(waitMs), body: { data: presentTask(details) } };
    },
  });
}

function cancelRoute(cancels: CancelTaskService): Route {
  return defineRoute({
    method: 'post',
    path: '/api/v1/tasks/{id}/cancel',
    operationId: 'cancelTask',
    summary:
      'Cancel a task: 200 once it has ended and its hold is released, 202 once its worker was asked to stop',
    tag: 'Tasks',
    access: 'inference',
    envelope: 'data',
    params: TASK_PARAMS,
    response: {
      status: 200,
      schema: TASK_CANCEL_RESPONSE,
      also: { 202: 'Its worker was asked to stop; the task ends soon' },
    },
    errors: ['task_not_found', 'task_not_cancelable'],
    idempotency: 'natural',
    async handle({ principal, params }) {
      const id = taskIdOf(params.id);
      const outcome = await cancels.cancel(id, scopeOf(principal));
      const canceled = outcome === 'canceled';
      return {
        status: canceled ? 200 : 202,
        body: {
          data: { id: publicId('generation', id), status: canceled ? 'canceled' : 'cancel_requested' },
        },
      };
    },
  });
}

function deleteRoute(tasks: TasksService): Route {
  return defineRoute({
    method: 'delete',
    path: '/api/v1/tasks/{id}',
    operationId: 'deleteTask',
    summary: 'Delete an ended task and its files now; its charge stays in the ledger',
    tag: 'Tasks',
    access: 'inference',
    envelope: 'data',
    params: TASK_PARAMS,
    response: { status: 200, schema: TASK_DELETE_RESPONSE },
    errors: ['task_not_found', 'task_not_cancelable'],
    async handle({ principal, params }) {
      const id = taskIdOf(params.id);
      await tasks.delete(id, scopeOf(principal));
      return { body: { data: { id: publicId('generation', id), deleted: true } } };
    },
  });
}

function contentRoute(tasks: TasksService): Route {
  return defineRoute({
    method: 'get',
    path: '/api/v1/tasks/{id}/content',
    operationId: 'getTaskContent',
    summary: 'Get a file of a task: redirects to a fresh media link, which supports ranges',
    tag: 'Tasks',
    access: 'inference',
    envelope: 'bare',
    params: TASK_PARAMS,
    query: TASK_CONTENT_QUERY,
    response: {
      status: 302,
      schema: NO_BODY,
      headers: { Location: 'A fresh media link, valid for an hour' },
    },
    errors: ['task_not_found', 'task_not_finished', 'media_not_found', 'media_expired'],
    async handle({ principal, params, query }) {
      const location = await tasks.contentUrl(taskIdOf(params.id), scopeOf(principal), query);
      return { status: 302, headers: { Location: location, 'Cache-Control': 'no-store' }, body: {} };
    },
  });
}
