import { defineRoute, type Route } from '../http/route.ts';
import { publicId } from '../lib/ids.ts';
import { PREFER_WAIT, preferredWaitMs } from './prefer-wait.ts';
import type { SubmitTaskService } from './submit-task.service.ts';
import { presentTaskResult, retryAfterHeader, TASK_RESULT } from './task-result.presenter.ts';
import type { TaskResultsService } from './task-results.service.ts';
import { scopeOf, taskIdOf } from './task-scope.ts';
import {
  IMAGE_SEED_MAX,
  IMAGE_SUBMIT,
  SUBMIT_RESPONSE,
  TASK_RESULT_QUERY,
  VIDEO_SEED_MAX,
  VIDEO_SUBMIT,
} from './tasks.schema.ts';

const VIDEO_PATH = '/v3/async/video-fast';
const IMAGE_PATH = '/v3/async/image-turbo';
/** The path fixes the model: its last part is the model's id. */
const IMAGE_MODEL = 'image-turbo';

/** The interface caps no image prompt: only the body does. */
const IMAGE_BODY_BYTES_MAX = 1024 * 1024;

const SUBMIT_ERRORS = [
  'insufficient_credits',
  'key_limit_exceeded',
  'model_not_found',
  'model_not_allowed',
  'account_suspended',
  'idempotency_in_progress',
  'idempotency_key_reused',
  'service_unavailable',
] as const;

/** `/v3/async/…`: submits and the task-result query. */
export function taskRoutes(submits: SubmitTaskService, results: TaskResultsService): Route[] {
  return [videoRoute(submits), imageRoute(submits), resultRoute(results)];
}

function videoRoute(submits: SubmitTaskService): Route {
  return defineRoute({
    method: 'post',
    path: VIDEO_PATH,
    operationId: 'submitVideo',
    summary: 'Generate a video from text; the answer is the id of a task',
    tag: 'Async',
    access: 'inference',
    envelope: 'task',
    body: VIDEO_SUBMIT,
    response: { status: 200, schema: SUBMIT_RESPONSE },
    errors: SUBMIT_ERRORS,
    idempotency: 'replay',
    async handle({ principal, body, requestId, generationId, signal }) {
      const { model_name: model, prompt, width, height, steps, seed, extra } = body;
      const id = await submits.submit(
        {
          endpoint: VIDEO_PATH,
          kind: 'video',
          model,
          prompt,
          width,
          height,
          steps,
          seed,
          seedMax: VIDEO_SEED_MAX,
          base64Output: false,
          webhookUrl: extra?.webhook?.url ?? null,
        },
        { principal, requestId, generationId, signal },
      );
      return { body: { task_id: publicId('generation', id) } };
    },
  });
}

function imageRoute(submits: SubmitTaskService): Route {
  return defineRoute({
    method: 'post',
    path: IMAGE_PATH,
    operationId: 'submitImage',
    summary: 'Generate an image from text; the answer is the id of a task',
    tag: 'Async',
    access: 'inference',
    envelope: 'task',
    body: IMAGE_SUBMIT,
    bodyBytesMax: IMAGE_BODY_BYTES_MAX,
    response: { status: 200, schema: SUBMIT_RESPONSE },
    errors: SUBMIT_ERRORS,
    idempotency: 'replay',
    async handle({ principal, body, requestId, generationId, signal }) {
      const { prompt, size, seed, enable_base64_output: base64Output, extra } = body;
      const id = await submits.submit(
        {
          endpoint: IMAGE_PATH,
          kind: 'image',
          model: IMAGE_MODEL,
          prompt,
          width: size.width,
          height: size.height,
          steps: undefined,
          seed,
          seedMax: IMAGE_SEED_MAX,
          base64Output,
          webhookUrl: extra?.webhook?.url ?? null,
        },
        { principal, requestId, generationId, signal },
      );
      return { body: { task_id: publicId('generation', id) } };
    },
  });
}

function resultRoute(results: TaskResultsService): Route {
  return defineRoute({
    method: 'get',
    path: '/v3/async/task-result',
    operationId: 'getTaskResult',
    summary: 'State and result of a task; Prefer: wait=N (up to 30) holds the answer until it has ended',
    tag: 'Async',
    access: 'inference',
    envelope: 'task',
    query: TASK_RESULT_QUERY,
    requestHeaders: { Prefer: PREFER_WAIT },
    response: { status: 200, schema: TASK_RESULT },
    errors: ['task_not_found'],
    async handle({ principal, query, headers, signal }) {
      const id = taskIdOf(query.task_id);
      const scope = scopeOf(principal);
      const waitMs = preferredWaitMs(headers.prefer);
      const result =
        waitMs > 0 ? await results.readWhenEnded(id, scope, waitMs, signal) : await results.read(id, scope);
      return { headers: retryAfterHeader(result.task), body: presentTaskResult(result) };
    },
  });
}
