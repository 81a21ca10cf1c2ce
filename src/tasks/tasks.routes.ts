import type { z } from 'zod';
import type { MediaOptions } from '../catalog/media-options.ts';
import { IGNORED_ANSWER_HEADER } from '../http/input/ignored-members.ts';
import { defineRoute, type Reply, type Route } from '../http/route.ts';
import { publicId } from '../lib/ids.ts';
import { IMAGE_PATH, orderImage, orderVideo, VIDEO_PATH } from './order-media.ts';
import { PREFER_WAIT, PREFERENCE_APPLIED, preferenceApplied, preferredWaitMs } from './prefer-wait.ts';
import type { SubmitContext, SubmitTaskService } from './submit-task.service.ts';
import { orderHeaders, SUBMIT, scopeOf, taskIdOf } from './task-request.ts';
import { presentTaskResult, retryAfterHeader, TASK_RESULT } from './task-result.presenter.ts';
import type { TaskResultsService } from './task-results.service.ts';
import {
  IMAGE_MODEL,
  IMAGE_SUBMIT,
  SUBMIT_RESPONSE,
  TASK_RESULT_QUERY,
  VIDEO_SUBMIT,
} from './tasks.schema.ts';

/** The interface's own image model, which is also its path. */
const INTERFACE_IMAGE_MODEL = 'image-turbo';

/** Members that orders of every model may have. */
const IMAGE_MEMBERS = ['model_name', 'prompt', 'size', 'seed', 'enable_base64_output', 'extra'];
const VIDEO_MEMBERS = ['model_name', 'prompt', 'width', 'height', 'seed', 'extra'];

/** The interface has no limit for image prompts; only the body has one. */
const IMAGE_BODY_BYTES_MAX = 1024 * 1024;

/** `/v3/async/…`: submits and the task-result query. */
export function taskRoutes(submits: SubmitTaskService, results: TaskResultsService): Route[] {
  return [videoRoute(submits), interfaceImageRoute(submits), imageRoute(submits), resultRoute(results)];
}

function videoRoute(submits: SubmitTaskService): Route {
  return defineRoute({
    ...SUBMIT,
    method: 'post',
    path: VIDEO_PATH,
    operationId: 'submitVideo',
    summary: 'Generate a video from text with any video model; the answer is the id of a task',
    tag: 'Async',
    access: 'inference',
    envelope: 'task',
    body: VIDEO_SUBMIT,
    response: { status: 200, schema: SUBMIT_RESPONSE, headers: IGNORED_ANSWER_HEADER },
    async handle({ body, ...context }) {
      const id = await orderVideo(submits, body, context);
      const { options } = submits.model(body.model_name, 'video', context.principal);
      return handleOf(id, body, [...VIDEO_MEMBERS, ...optionalMembers(options)]);
    },
  });
}

const IMAGE_ROUTE = {
  ...SUBMIT,
  method: 'post',
  tag: 'Async',
  access: 'inference',
  envelope: 'task',
  body: IMAGE_SUBMIT,
  bodyBytesMax: IMAGE_BODY_BYTES_MAX,
  response: { status: 200, schema: SUBMIT_RESPONSE, headers: IGNORED_ANSWER_HEADER },
} as const;

function interfaceImageRoute(submits: SubmitTaskService): Route {
  return defineRoute({
    ...IMAGE_ROUTE,
    path: `${IMAGE_PATH}${INTERFACE_IMAGE_MODEL}`,
    operationId: 'submitImage',
    summary: 'Generate an image from text; the answer is the id of a task',
    handle: ({ body, ...context }) => submitImage(submits, INTERFACE_IMAGE_MODEL, body, context),
  });
}

function imageRoute(submits: SubmitTaskService): Route {
  return defineRoute({
    ...IMAGE_ROUTE,
    path: `${IMAGE_PATH}{model+}`,
    operationId: 'submitImageOfModel',
    summary: 'Generate an image with the image model of the path; the answer is the id of a task',
    params: IMAGE_MODEL,
    handle: ({ params, body, ...context }) => submitImage(submits, params.model, body, context),
  });
}

async function submitImage(
  submits: SubmitTaskService,
  name: string,
  body: z.output<typeof IMAGE_SUBMIT>,
  context: SubmitContext,
): Promise<Reply> {
  const id = await orderImage(submits, name, body, context);
  const { options } = submits.model(name, 'image', context.principal);
  return handleOf(id, body, [...IMAGE_MEMBERS, ...optionalMembers(options)]);
}

function optionalMembers({ steps, seconds }: MediaOptions): string[] {
  return [...(steps ? ['steps'] : []), ...(seconds ? ['seconds'] : [])];
}

function handleOf(taskId: string, body: object, said: readonly string[]): Reply {
  return { headers: orderHeaders(taskId, body, said), body: { task_id: publicId('generation', taskId) } };
}

function resultRoute(results: TaskResultsService): Route {
  return defineRoute({
    method: 'get',
    path: '/v3/async/task-result',
    operationId: 'getTaskResult',
    summary:
      'Get the state and result of a task; with Prefer: wait=N (up to 30 seconds) the answer waits until it has ended',
    tag: 'Async',
    access: 'inference',
    envelope: 'task',
    query: TASK_RESULT_QUERY,
    requestHeaders: { Prefer: PREFER_WAIT },
    response: {
      status: 200,
      schema: TASK_RESULT,
      headers: {
        'Retry-After': 'Seconds after which to ask again; only while the task runs',
        ...PREFERENCE_APPLIED,
      },
    },
    errors: ['task_not_found'],
    async handle({ principal, query, headers, signal }) {
      const id = taskIdOf(query.task_id);
      const scope = scopeOf(principal);
      const waitMs = preferredWaitMs(headers.prefer);
      const result =
        waitMs > 0 ? await results.readWhenEnded(id, scope, waitMs, signal) : await results.read(id, scope);
      return {
        headers: { ...retryAfterHeader(result.task), ...preferenceApplied(waitMs) },
        body: presentTaskResult(result),
      };
    },
  });
}
