import { createRequire } from 'node:module';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { NovitaSDK as NovitaSdk } from 'novita-sdk';
import { createKey } from '../factories/api-key.ts';
import { eventually } from '../factories/eventually.ts';
import { startTaskServer, type TaskServer } from '../factories/task-server.ts';
import { TaskTest } from '../factories/task-test.ts';

// The package is CommonJS wrapped as UMD: its names are not visible to an ES import.
const { NovitaSDK } = createRequire(import.meta.url)('novita-sdk') as { NovitaSDK: typeof NovitaSdk };

const IMAGE = { prompt: 'run=50 calm sea', size: '512*512', seed: 42 };
const VIDEO = {
  model_name: 'video-fast',
  prompt: 'run=50 calm sea',
  width: 1_280,
  height: 720,
  steps: 4,
  seed: 7,
};

let it: TaskTest;
let server: TaskServer;
let sdk: NovitaSdk;

beforeAll(async () => {
  it = await TaskTest.open({ redisDatabase: 12 });
  const { secret } = await createKey(it.database.database, it.who.accountId);
  server = await startTaskServer(it, secret);
  // The SDK sends this value as the whole Authorization header.
  sdk = new NovitaSDK(`Bearer ${secret}`);
  sdk.setBaseUrl(server.url);
  it.stack.start();
});

afterAll(async () => {
  await server?.close();
  await it?.close();
});

/** Submits like the SDK's own methods, which differ only in the path. */
async function submit(path: string, data: object): Promise<string> {
  const { task_id } = (await sdk.httpFetch({ url: path, method: 'POST', data })) as { task_id: string };
  return task_id;
}

/** Polls with the SDK until the task has ended. Returns the result and every status seen. */
async function follow(taskId: string) {
  const seen: string[] = [];
  const result = await eventually(
    async () => {
      const answer = await sdk.progress({ task_id: taskId });
      seen.push(answer.task.status);
      return /SUCCEED|FAILED/.test(answer.task.status) ? answer : undefined;
    },
    30_000,
    `the end of ${taskId}`,
  );
  return { seen, result };
}

test.each([
  ['an image', '/v3/async/image-turbo', IMAGE, 'TXT_TO_IMG'],
  ['a video', '/v3/async/video-fast', VIDEO, 'TXT_TO_VIDEO'],
])('%s: is submitted, followed to its end and fetched', async (_, path, body, type) => {
  const { seen, result } = await follow(await submit(path, body));
  expect(seen.at(-1)).toBe('TASK_STATUS_SUCCEED');
  expect(new Set(seen.slice(0, -1))).not.toContain('TASK_STATUS_FAILED');
  expect(result.task).toMatchObject({ task_type: type, reason: '', progress_percent: 100 });
  const files = type === 'TXT_TO_IMG' ? result.images : result.videos;
  expect(files).toHaveLength(1);
  const url = type === 'TXT_TO_IMG' ? result.images?.[0]?.image_url : result.videos?.[0]?.video_url;
  expect(URL.canParse(url ?? '')).toBe(true);
});

test("passes a failed task, an unknown task and a rejected body to the caller in the SDK's own form", async () => {
  const { result } = await follow(
    await submit('/v3/async/image-turbo', { ...IMAGE, prompt: 'fail=content_refused' }),
  );
  expect(result.task.status).toBe('TASK_STATUS_FAILED');
  expect(result.task.reason).toMatch(/^CONTENT_REFUSED/);
  await expect(sdk.progress({ task_id: 'gen-00000000000000000000000000' })).rejects.toMatchObject({
    code: 404,
    reason: 'TASK_NOT_FOUND',
    metadata: { task_id: 'gen-00000000000000000000000000' },
  });
  await expect(submit('/v3/async/image-turbo', { ...IMAGE, size: '1*1' })).rejects.toMatchObject({
    code: 400,
    reason: 'INVALID_REQUEST_BODY',
  });
});

test('returns 404 for the paths of its methods for other models, and distinguishes a wrong key', async () => {
  const request = { width: 512, height: 512, steps: 4, seed: 1, prompts: [{ frames: 8, prompt: 'sea' }] };
  await expect(
    sdk.txt2Video({ ...request, model_name: 'any', guidance_scale: 7 } as never),
  ).rejects.toMatchObject({ code: 404 });
  await expect(sdk.txt2img({ request: {} } as never)).rejects.toMatchObject({ code: 404 });
  const stranger = new NovitaSDK('Bearer sk-tg-v1-wrong');
  stranger.setBaseUrl(server.url);
  await expect(stranger.progress({ task_id: 'x' })).rejects.toMatchObject({
    code: 401,
    reason: 'INVALID_API_KEY',
  });
});
