import { CHAT_MODEL, IMAGE_MODEL } from '../chaos/stack.ts';
import { eventually } from '../factories/eventually.ts';
import type { RollingInstallation } from './rolling-installation.ts';

/** What a customer received from one build, and every later build must recognize. */
export interface Witness {
  /** Name of the build that served it. */
  readonly of: string;
  readonly key: string;
  readonly generationId: string;
  readonly taskId: string;
}

const TASK_TIMEOUT_MS = 60_000;

/**
 * Opens an account with a key, makes a call and orders an image. Adds the ids of its requests to `requestIds`. Throws an Error when one
 * fails.
 */
export async function makeWitness(
  installation: RollingInstallation,
  url: string,
  of: string,
  requestIds: string[],
): Promise<Witness> {
  const key = await installation.openAccount('1.00');
  const generationId = await callOnce(url, key, requestIds);
  const order = { prompt: 'a lighthouse', size: '256*256' };
  const { task_id: taskId } = await ask<{ task_id: string }>(url, key, `/v3/async/${IMAGE_MODEL}`, order);
  await pictureOf(url, key, taskId);
  return { of, key, generationId, taskId };
}

/** Makes a call with the key and requests the earlier call and image. Throws an Error that says which of them is lost. */
export async function askWitness(url: string, witness: Witness, requestIds: string[]): Promise<void> {
  const { key, generationId, taskId } = witness;
  await callOnce(url, key, requestIds);
  const { data } = await ask<{ data: { id: string } }>(url, key, `/api/v1/generation?id=${generationId}`);
  if (data.id !== generationId) {
    throw new Error(`${generationId} was answered with ${data.id}`);
  }
  const picture = await fetch(await pictureOf(url, key, taskId));
  if (!picture.ok || (await picture.arrayBuffer()).byteLength === 0) {
    throw new Error(`the image of ${taskId} is gone: ${picture.status}`);
  }
}

/** Makes a chat call and returns its id. */
async function callOnce(url: string, key: string, requestIds: string[]): Promise<string> {
  const requestId = `witness-${requestIds.length}`;
  requestIds.push(requestId);
  const body = { model: CHAT_MODEL, messages: [{ role: 'user', content: 'Hello' }], max_tokens: 64 };
  return (await ask<{ id: string }>(url, key, '/api/v1/chat/completions', body, requestId)).id;
}

/** Resolves to the address of a task's image, once it is made. */
function pictureOf(url: string, key: string, taskId: string): Promise<string> {
  return eventually(
    async () => {
      const path = `/v3/async/task-result?task_id=${taskId}`;
      const { task, images } = await ask<TaskResult>(url, key, path);
      return task.status === 'TASK_STATUS_SUCCEED' ? images[0]?.image_url : undefined;
    },
    TASK_TIMEOUT_MS,
    `the image of ${taskId}`,
  );
}

interface TaskResult {
  readonly task: { readonly status: string };
  readonly images: readonly { readonly image_url: string }[];
}

async function ask<T>(
  url: string,
  key: string,
  path: string,
  body?: unknown,
  requestId?: string,
): Promise<T> {
  const response = await fetch(url + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      ...(requestId !== undefined && { 'x-request-id': requestId }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  if (!response.ok) {
    throw new Error(`${path}: ${response.status} ${await response.text()}`);
  }
  return (await response.json()) as T;
}
