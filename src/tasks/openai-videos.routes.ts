import { z } from 'zod';
import { encodeCursor } from '../http/answers/cursor.ts';
import { IGNORED_ANSWER_HEADER } from '../http/input/ignored-members.ts';
import { defineRoute, type Principal, type Route } from '../http/route.ts';
import { publicId } from '../lib/ids.ts';
import { TASK_PARAMS } from './native-tasks.schema.ts';
import { presentVideo } from './openai-videos.presenter.ts';
import {
  openAiVideo,
  openAiVideoContentQuery,
  openAiVideoDeleted,
  openAiVideoList,
  openAiVideoListQuery,
  openAiVideoRequest,
} from './openai-videos.schema.ts';
import { openAiVideoOrder, orderVideo } from './order-media.ts';
import type { SubmitTaskService } from './submit-task.service.ts';
import { orderHeaders, SUBMIT, scopeOf, taskIdOf, taskNotFound } from './task-request.ts';
import type { TaskDetails, TasksService } from './tasks.service.ts';

const PATH = '/api/v1/videos';
const SHARED = { tag: 'Async', access: 'inference', envelope: 'bare' } as const;
const SAID = ['model', 'prompt', 'size', 'steps', 'seed'];

/** OpenAI's videos: the same tasks, polled until they are done. */
export function openAiVideoRoutes(submits: SubmitTaskService, tasks: TasksService): Route[] {
  return [
    createRoute(submits, tasks),
    listRoute(tasks),
    getRoute(tasks),
    contentRoute(tasks),
    deleteRoute(tasks),
  ];
}

function createRoute(submits: SubmitTaskService, tasks: TasksService): Route {
  return defineRoute({
    ...SHARED,
    ...SUBMIT,
    method: 'post',
    path: PATH,
    operationId: 'createVideo',
    summary: 'Generate a video from text (OpenAI videos); poll until it is done',
    description: `The video is a task like those of \`/v3/async/video-fast\`, priced and charged the same way. \`seconds\`
 applies to models that offer lengths; for others it is ignored and named in X-Ignored-Parameters.`,
    body: openAiVideoRequest,
    bodyFormat: 'json or form',
    response: { status: 200, schema: openAiVideo, headers: IGNORED_ANSWER_HEADER },
    async handle({ body, ...caller }) {
      const { options } = submits.model(body.model, 'video', caller.principal);
      const said = options.seconds ? [...SAID, 'seconds'] : SAID;
      const id = await orderVideo(submits, openAiVideoOrder(body, options), caller, PATH);
      return {
        headers: orderHeaders(id, body, said),
        body: presentVideo(await videoOf(tasks, id, caller.principal)),
      };
    },
  });
}

function listRoute(tasks: TasksService): Route {
  return defineRoute({
    ...SHARED,
    method: 'get',
    path: PATH,
    operationId: 'listVideos',
    summary: 'List videos, newest first (OpenAI videos)',
    query: openAiVideoListQuery,
    response: { status: 200, schema: openAiVideoList },
    errors: ['task_not_found'],
    async handle({ principal, query: { limit, after } }) {
      const last = after === undefined ? undefined : await videoOf(tasks, taskIdOf(after), principal);
      const cursor = last && encodeCursor([last.task.id]);
      const page = await tasks.list(scopeOf(principal), { kind: 'video', limit, cursor });
      const data = page.rows.map(presentVideo);
      const ends = { first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null };
      return { body: { object: 'list', data, ...ends, has_more: page.next !== undefined } };
    },
  });
}

function getRoute(tasks: TasksService): Route {
  return defineRoute({
    ...SHARED,
    method: 'get',
    path: `${PATH}/{id}`,
    operationId: 'getVideo',
    summary: 'Get a video: its progress, or why it failed',
    params: TASK_PARAMS,
    response: { status: 200, schema: openAiVideo },
    errors: ['task_not_found'],
    async handle({ principal, params }) {
      return { body: presentVideo(await videoOf(tasks, taskIdOf(params.id), principal)) };
    },
  });
}

function contentRoute(tasks: TasksService): Route {
  return defineRoute({
    ...SHARED,
    method: 'get',
    path: `${PATH}/{id}/content`,
    operationId: 'getVideoContent',
    summary: 'Download a video: redirects to a fresh media link, which supports ranges',
    params: TASK_PARAMS,
    query: openAiVideoContentQuery,
    response: {
      status: 302,
      schema: z.object({}),
      headers: { Location: 'A fresh media link, valid for an hour' },
    },
    errors: ['task_not_found', 'task_not_finished', 'media_not_found', 'media_expired'],
    async handle({ principal, params, query }) {
      const id = taskIdOf(params.id);
      await videoOf(tasks, id, principal);
      const variant = query.variant === 'video' ? 'original' : 'thumbnail';
      const location = await tasks.contentUrl(id, scopeOf(principal), { index: 0, variant });
      return { status: 302, headers: { Location: location, 'Cache-Control': 'no-store' }, body: {} };
    },
  });
}

function deleteRoute(tasks: TasksService): Route {
  return defineRoute({
    ...SHARED,
    method: 'delete',
    path: `${PATH}/{id}`,
    operationId: 'deleteVideo',
    summary: 'Delete an ended video and its files now; its charge stays in the ledger',
    params: TASK_PARAMS,
    response: { status: 200, schema: openAiVideoDeleted },
    errors: ['task_not_found', 'task_not_cancelable'],
    async handle({ principal, params }) {
      const id = taskIdOf(params.id);
      await videoOf(tasks, id, principal);
      await tasks.delete(id, scopeOf(principal));
      return { body: { id: publicId('generation', id), object: 'video.deleted', deleted: true } };
    },
  });
}

/** Returns a task that makes a video; other tasks do not exist for these routes. */
async function videoOf(tasks: TasksService, id: string, principal: Principal): Promise<TaskDetails> {
  const details = await tasks.get(id, scopeOf(principal));
  if (details.task.kind !== 'video') {
    throw taskNotFound();
  }
  return details;
}
