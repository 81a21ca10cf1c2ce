import { afterAll, beforeAll, expect, test } from '@jest/globals';
import OpenAI from 'openai';
import { createKey } from '../factories/api-key.ts';
import { eventually } from '../factories/eventually.ts';
import { startTaskServer, type TaskServer } from '../factories/task-server.ts';
import { TaskTest } from '../factories/task-test.ts';

const IMAGE = { model: 'image-turbo', prompt: 'run=50 calm sea', size: '512x512' } as const;

let it: TaskTest;
let server: TaskServer;
let openai: OpenAI;

beforeAll(async () => {
  it = await TaskTest.open({ redisDatabase: 13 });
  const { secret } = await createKey(it.database.database, it.who.accountId);
  server = await startTaskServer(it, secret);
  openai = new OpenAI({ apiKey: secret, baseURL: `${server.url}/api/v1`, maxRetries: 0 });
  it.stack.start();
});

afterAll(async () => {
  await server?.close();
  await it?.close();
});

test('returns an image as a URL and as base64, at the price of the task', async () => {
  const drawn = await openai.images.generate(IMAGE as OpenAI.ImageGenerateParamsNonStreaming);
  expect(drawn.data).toEqual([{ url: expect.stringMatching(/^http.*-original-.*\.png/) }]);
  const { id, usage } = drawn as unknown as { id: string; usage: { cost: number } };
  const { json } = await server.call('GET', `/api/v1/tasks/${id}`);
  expect(json.data).toMatchObject({ endpoint: '/api/v1/images/generations', status: 'succeeded' });
  expect(usage.cost).toBe(Number(json.data.charged_amount));
  expect(json.data.outputs[0]).toMatchObject({ width: 512, height: 512 });

  const inline = await openai.images.generate({
    ...IMAGE,
    response_format: 'b64_json',
  } as OpenAI.ImageGenerateParamsNonStreaming);
  const bytes = Buffer.from(inline.data?.[0]?.b64_json ?? '', 'base64');
  expect(bytes.toString()).toContain('calm sea');
});

test('names members that do not affect the image, and rejects those that would change the order', async () => {
  const body = { ...IMAGE, size: 'auto', quality: 'hd', style: null, background: 'opaque' };
  const { status, headers, json } = await server.call('POST', '/api/v1/images/generations', { body });
  expect(headers.get('x-generation-id')).toBe(json.id);
  expect({ status, ignored: headers.get('x-ignored-parameters') }).toEqual({
    status: 200,
    ignored: 'quality, background',
  });
  const native = await server.call('POST', '/v3/async/image-turbo', {
    body: { prompt: 'run=1 sea', negative_prompt: 'boats', steps: 9 },
  });
  expect(native.headers.get('x-ignored-parameters')).toBe('steps, negative_prompt');
  for (const wrong of [
    { n: 2 },
    { size: '100x100' },
    { size: '512*512' },
    { stream: true },
    { output_format: 'webp' },
    { prompt: '' },
  ]) {
    const refused = await server.call('POST', '/api/v1/images/generations', { body: { ...IMAGE, ...wrong } });
    expect({ wrong, status: refused.status }).toEqual({ wrong, status: 400 });
  }
});

test('reports why an image cannot be made and charges nothing', async () => {
  const failing = { ...IMAGE, prompt: 'fail=content_refused' } as OpenAI.ImageGenerateParamsNonStreaming;
  await expect(openai.images.generate(failing)).rejects.toMatchObject({
    status: 400,
    code: 'invalid_request',
  });
  await expect(
    openai.images.generate({ ...IMAGE, model: 'nope' } as OpenAI.ImageGenerateParamsNonStreaming),
  ).rejects.toMatchObject({
    status: 404,
    code: 'model_not_found',
  });
});

async function newestTask(): Promise<{ id: string; status: string; cancel_requested: boolean }> {
  return (await server.call('GET', '/api/v1/tasks?limit=1')).json.data[0];
}

test('cancels the task of a caller who leaves; with an Idempotency-Key, makes it and keeps it for the retry', async () => {
  const leave = async (headers: Record<string, string | null>) => {
    const known = await newestTask();
    const leaving = new AbortController();
    const asked = openai.images
      .generate({ ...IMAGE, prompt: 'run=1500 calm sea' } as OpenAI.ImageGenerateParamsNonStreaming, {
        signal: leaving.signal,
        headers,
      })
      .catch(() => undefined);
    const { id } = await eventually(
      async () => {
        const task = await newestTask();
        return task.id === known.id ? undefined : task;
      },
      30_000,
      'the task',
    );
    leaving.abort();
    await asked;
    return await eventually(
      async () => {
        const { data } = (await server.call('GET', `/api/v1/tasks/${id}`)).json;
        return data.completed_at ? (data as { status: string }) : undefined;
      },
      30_000,
      'the end of the task',
    );
  };
  // without this, the SDK's own retry would join the call
  expect((await leave({ 'x-stainless-retry-count': null })).status).toBe('canceled');
  expect((await leave({ 'idempotency-key': 'picture-1' })).status).toBe('succeeded');
});

test("creates a video from a form like the SDK's, follows, downloads and deletes it", async () => {
  const asked = { model: 'video-fast', prompt: 'run=50 calm sea', size: '720x1280', seconds: '4', seed: '7' };
  const created = await openai.videos.create(asked as unknown as OpenAI.VideoCreateParams).withResponse();
  expect(created.response.headers.get('x-ignored-parameters')).toBe('seconds');
  expect(created.data).toMatchObject({ object: 'video', model: 'video-fast', size: '720x1280' });
  const { id } = created.data;
  const made = await eventually(
    async () => {
      const video = await openai.videos.retrieve(id);
      return video.status === 'completed' ? video : undefined;
    },
    30_000,
    'the video',
  );
  expect(made).toMatchObject({ progress: 100, size: '720x1280', error: null });
  const content = await server.call('GET', `/api/v1/videos/${id}/content`);
  expect({ status: content.status, location: content.headers.get('location') }).toEqual({
    status: 302,
    location: expect.stringContaining('.mp4'),
  });
  expect(await openai.videos.delete(id)).toEqual({ id, object: 'video.deleted', deleted: true });
  await expect(openai.videos.retrieve(id)).rejects.toMatchObject({ status: 404, code: 'task_not_found' });
});

test('makes a video once, however often the SDK orders it with the same Idempotency-Key', async () => {
  const order = (prompt: string) =>
    openai.videos.create({ model: 'video-fast', prompt } as OpenAI.VideoCreateParams, {
      headers: { 'idempotency-key': 'video-1' },
    });
  const first = await order('run=1 calm sea');
  expect((await order('run=1 calm sea')).id).toBe(first.id);
  await expect(order('run=1 rough sea')).rejects.toMatchObject({ status: 422 });
});

test('lists videos, newest first, page by page', async () => {
  const videos: string[] = [];
  for (const prompt of ['run=1 first', 'run=1 second', 'run=1 third']) {
    videos.unshift(
      (await openai.videos.create({ model: 'video-fast', prompt } as OpenAI.VideoCreateParams)).id,
    );
    await server.call('POST', '/v3/async/image-turbo', { body: { prompt: 'run=1 an image between' } });
  }
  const listed: string[] = [];
  for await (const { id } of openai.videos.list({ limit: 2 })) {
    listed.push(id);
  }
  expect(listed.slice(0, 3)).toEqual(videos);
  expect(new Set(listed).size).toBe(listed.length);

  const page = (query: string) => server.call('GET', `/api/v1/videos?${query}`);
  expect((await page(`limit=1&after=${videos[0]}`)).json).toMatchObject({
    object: 'list',
    data: [{ id: videos[1], object: 'video', model: 'video-fast' }],
    ...{ first_id: videos[1], last_id: videos[1], has_more: true },
  });
  expect((await page(`after=${listed.at(-1)}`)).json).toMatchObject({
    data: [],
    last_id: null,
    has_more: false,
  });
  const image = (await server.call('GET', '/api/v1/tasks?kind=image&limit=1')).json.data[0].id;
  expect((await page(`after=${image}`)).status).toBe(404);
  expect([(await page('after=nonsense')).status, (await page('order=asc')).status]).toEqual([404, 400]);
});

test('rejects videos with an explanation, and does not serve images as videos', async () => {
  const video = { model: 'video-fast', prompt: 'calm sea' };
  const refused = async (body: object) => (await server.call('POST', '/api/v1/videos', { body })).json.error;
  expect(await refused({ ...video, size: '1x1' })).toMatchObject({ code: 'invalid_parameter' });
  expect(await refused({ ...video, steps: 1 })).toMatchObject({ code: 'invalid_parameter' });
  const reference = new File(['x'], 'x.png', { type: 'image/png' });
  await expect(
    openai.videos.create({ ...video, input_reference: reference } as OpenAI.VideoCreateParams),
  ).rejects.toMatchObject({
    status: 400,
    message: expect.stringContaining('must be omitted: videos are made from text only'),
  });
  const [image] = (await server.call('GET', '/api/v1/tasks')).json.data.filter(
    ({ kind }: { kind: string }) => kind === 'image',
  );
  expect((await server.call('GET', `/api/v1/videos/${image.id}`)).status).toBe(404);
  const broken = await fetch(`${server.url}/api/v1/videos`, {
    method: 'POST',
    headers: { authorization: `Bearer ${openai.apiKey}`, 'content-type': 'multipart/form-data; boundary=x' },
    body: 'no form',
  });
  expect(broken.status).toBe(400);
});
