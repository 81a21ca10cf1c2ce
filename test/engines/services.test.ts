import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { comfyUiKind } from '../../src/engines/comfyui/comfyui-engine.ts';
import type { Engine } from '../../src/engines/engine.types.ts';
import { httpKind } from '../../src/engines/http/http-engine.ts';
import { openAiKind } from '../../src/engines/openai/openai-engine.ts';
import type { EngineKind } from '../../src/engines/registry.ts';
import { bytesOf } from '../../src/lib/file-content.ts';
import { attempt, engineRequest, freshMemory } from '../factories/engine-attempt.ts';
import { ComfyUiServer } from '../factories/engine-comfyui.ts';
import { OpenAiImageServer } from '../factories/engine-openai.ts';
import { MiniMaxServer } from '../factories/engine-polled-services.ts';
import { KlingServer } from '../factories/engine-signed-services.ts';
import { StabilityServer } from '../factories/engine-synchronous-services.ts';
import { eventually } from '../factories/eventually.ts';
import { serviceEntry } from '../factories/service-entries.ts';
import { temporaryFolder } from '../factories/temporary-folder.ts';

const FOLDER = fileURLToPath(new URL('.', import.meta.url));
const kling = new KlingServer();
const minimax = new MiniMaxServer();
const stability = new StabilityServer();
const openai = new OpenAiImageServer();
const comfy = new ComfyUiServer();
const servers = [kling, minimax, stability, openai, comfy];
const engines: Engine[] = [];

beforeAll(() => Promise.all(servers.map((server) => server.start())));
beforeEach(() => {
  for (const server of servers) {
    server.reset();
  }
});
afterAll(() => Promise.all([...engines, ...servers].map((one) => one.close())));

function engine(kind: EngineKind, settings: Record<string, unknown>): Engine {
  const created = kind.create({ ...settings, id: 'gpu', kind: 'some', poll_interval_ms: 10 });
  engines.push(created);
  return created;
}

const inFolder = () => ({
  folder: temporaryFolder('services'),
  signal: new AbortController().signal,
  onProgress: () => undefined,
});

const VIDEO = { kind: 'video', width: 1280, height: 720, seconds: 5 } as const;

test('attributes a refusal with status 200 to the operator or the customer by its words', async () => {
  const service = engine(httpKind, serviceEntry('minimax', minimax.url));
  const order = engineRequest({ ...VIDEO, width: 1366, height: 768, seconds: 6 });
  minimax.reset('refuses_key');
  await expect(attempt(service, order)).rejects.toMatchObject({
    failure: { code: 'upstream_misconfigured' },
  });
  minimax.reset('refuses_content');
  await expect(attempt(service, order)).rejects.toMatchObject({ failure: { code: 'content_refused' } });
});

test('sends the values of the order in a form, and treats a blurred result as a refusal', async () => {
  const order = engineRequest({ width: 1024, height: 1024, model: 'core' });
  await attempt(engine(httpKind, serviceEntry('stability', stability.url)), order);
  const form = stability.requests[0]?.text ?? '';
  expect(form).toMatch(/name="prompt"\r\n\r\na lighthouse at dusk\r\n/);
  expect(form).toMatch(/name="aspect_ratio"\r\n\r\n1:1\r\n/);
  const refused = { at: 'finish_reason', words: ['SUCCESS'] };
  const strict = engine(httpKind, { ...serviceEntry('stability', stability.url), refused });
  await expect(attempt(strict, order)).rejects.toMatchObject({ failure: { code: 'content_refused' } });
});

test('reads a flag that is a boolean as a refusal', async () => {
  const flagged = (isFlagged: boolean) => {
    stability.change = (reply) => ({ ...reply, json: { ...(reply.json as object), nsfw: [isFlagged] } });
    const refused = { at: 'nsfw.0', words: ['true'] };
    const service = engine(httpKind, { ...serviceEntry('stability', stability.url), refused });
    return attempt(service, engineRequest({ width: 1024, height: 1024, model: 'core' }));
  };
  await expect(flagged(true)).rejects.toMatchObject({ failure: { code: 'content_refused' } });
  expect((await flagged(false)).outputs).toHaveLength(1);
});

test.each([
  [0.004, 4_000_000n],
  ['0.004', 4_000_000n],
  [null, undefined],
  ['', undefined],
  [-1, undefined],
])('takes the cost %j as %s', async (cost, costNanoUsd) => {
  kling.change = (reply) => ({ ...reply, json: { ...(reply.json as object), cost } });
  const service = engine(httpKind, { ...serviceEntry('kling', kling.url), cost: 'cost' });
  expect((await attempt(service, engineRequest(VIDEO))).status.costNanoUsd).toBe(costNanoUsd);
});

test('polls again when a service no longer knows at the download that its run has succeeded', async () => {
  const service = engine(httpKind, serviceEntry('kling', kling.url));
  const order = engineRequest(VIDEO);
  const reference = await service.submit(order, inFolder());
  await eventually(async () => (await service.poll(reference, order, inFolder())).state === 'succeeded');
  kling.change = (reply) => {
    const json = reply.json as { data: object };
    return {
      ...reply,
      json: { ...json, data: { ...json.data, task_status: 'processing', task_result: {} } },
    };
  };
  await expect(service.collect(reference, order, inFolder())).rejects.toMatchObject({
    failure: { code: 'output_unavailable', retryable: true },
  });
  kling.change = undefined;
  expect(await service.collect(reference, order, inFolder())).toHaveLength(1);
});

/** A service that answers an order with the URL of its file, and bills it. */
const namesItsFile = () =>
  engine(httpKind, {
    base_url: `${openai.url}/v1`,
    submit: { path: '/images/generations', body: { model: '{model}', prompt: '{prompt}', n: 1 } },
    output: 'data.0.url',
  });

test('does not pay again for an order whose file cannot be downloaded', async () => {
  openai.imageAs = 'url';
  openai.reset('output_missing');
  const failing = attempt(namesItsFile(), engineRequest());
  await expect(failing).rejects.toMatchObject({ failure: { code: 'output_unavailable', retryable: false } });
  openai.imageAs = 'b64';
  expect(openai.accepted).toBe(1);
}, 30_000);

test.each([
  ['http', namesItsFile],
  ['openai', () => engine(openAiKind, { base_url: `${openai.url}/v1`, paid: true })],
])(
  'does not pay again for a file that the disk does not take (%s)',
  async (_kind, create) => {
    openai.imageAs = 'url';
    const folder = join(temporaryFolder('services'), 'gone');
    const failing = attempt(create(), engineRequest(), { folder });
    await expect(failing).rejects.toMatchObject({
      failure: { code: 'output_unwritten', retryable: false, said: expect.stringContaining('ENOENT') },
    });
    openai.imageAs = 'b64';
    expect(openai.accepted).toBe(1);
  },
  30_000,
);

test('blames the disk, not the engine, for a file that it does not take, and leaves the run as it is', async () => {
  const service = engine(httpKind, serviceEntry('kling', kling.url));
  const memory = freshMemory();
  const folder = join(temporaryFolder('services'), 'gone');
  const failing = attempt(service, engineRequest(VIDEO), { folder, memory });
  await expect(failing).rejects.toMatchObject({ name: 'ScratchDiskError', code: 'ENOENT' });
  expect((await attempt(service, engineRequest(VIDEO), { memory })).outputs).toHaveLength(1);
  expect(kling.accepted).toBe(1);
});

test('takes the URL of an image whose base64 is empty, and a refusal in the words of xAI', async () => {
  const service = engine(openAiKind, { base_url: `${openai.url}/v1`, paid: true });
  openai.imageAs = 'both';
  const { outputs } = await attempt(service, engineRequest());
  openai.imageAs = 'b64';
  expect((await bytesOf(outputs[0]!.file)).equals(openai.media)).toBe(true);
  const error = 'Generated image rejected by content moderation.';
  openai.change = () => ({ status: 400, json: { code: 'imagine:content-moderated', error } });
  await expect(attempt(service, engineRequest())).rejects.toMatchObject({
    failure: { code: 'content_refused' },
  });
});

test('adds the members of a route to the body, and those of an entry to every address', async () => {
  const azure = engine(openAiKind, { base_url: `${openai.url}/v1`, query: { 'api-version': 'preview' } });
  await attempt(azure, engineRequest({ extra: { quality: 'high', prompt: 'not this' } }));
  expect(openai.submitted).toMatchObject({ quality: 'high', prompt: 'a lighthouse at dusk' });
  expect(openai.requests.map(({ query }) => query.get('api-version'))).toEqual(['preview']);

  const parameters = { prompt: '6.inputs.text', seed: '3.inputs.seed' };
  const workflows = { tiny: { kind: 'image', file: 'workflows/tiny.json', parameters } };
  const graph = engine(comfyUiKind(FOLDER), { base_url: comfy.url, workflows });
  await attempt(graph, engineRequest({ extra: { '3.inputs.seed': 7 } }));
  expect(comfy.submitted.prompt['3'].inputs.seed).toBe(7);

  const entry = {
    ...serviceEntry('kling', kling.url),
    submit: { ...KLING_SUBMIT, body: { input: { a: 1 } } },
  };
  await attempt(
    engine(httpKind, entry),
    engineRequest({ ...VIDEO, extra: { input: { b: 2 }, mode: 'pro' } }),
  );
  expect(kling.submitted).toEqual({ input: { a: 1, b: 2 }, mode: 'pro' });
});

const KLING_SUBMIT = { path: '/v1/videos/text2video', reference: 'data.task_id' };
