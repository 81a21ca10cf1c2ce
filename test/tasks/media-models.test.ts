import { createRequire } from 'node:module';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { NovitaSDK as NovitaSdk } from 'novita-sdk';
import { CatalogService } from '../../src/catalog/catalog.service.ts';
import { parseCatalog } from '../../src/catalog/parse-catalog.ts';
import type { EngineRequest } from '../../src/engines/engine.types.ts';
import { createKey } from '../factories/api-key.ts';
import { eventually } from '../factories/eventually.ts';
import { ScriptedEngine } from '../factories/task-engine.ts';
import { startTaskServer, type TaskServer } from '../factories/task-server.ts';
import { TaskTest } from '../factories/task-test.ts';
import { temporaryFolder } from '../factories/temporary-folder.ts';

// The package is CommonJS wrapped as UMD: its names are not visible to an ES import.
const { NovitaSDK } = createRequire(import.meta.url)('novita-sdk') as { NovitaSDK: typeof NovitaSdk };

const CATALOG = parseCatalog(
  `
models:
  - { id: image-turbo, endpoints: [image], pricing: { request: "0.005" }, routes: [{ engine: pictures }] }
  - { id: video-fast, endpoints: [video], pricing: { request: "0.04" }, routes: [{ engine: films }] }
  - id: acme/photo
    aliases: [photo]
    endpoints: [image]
    pricing: { request: "0.02" }
    media:
      sizes: [1024*1024, 2048*1024]
      steps: { min: 10, max: 50, default: 28 }
      prices: { 2048*1024: { request: "0.035" } }
    routes: [{ engine: pictures, model: photo-v2 }]
  - id: acme/film
    endpoints: [video]
    pricing: { request: "0.01", second: "0.05" }
    media:
      sizes: [1280*720, 1920x1080]
      seconds: [5, 10]
      prices: { 1920*1080: { second: "0.12" } }
    routes: [{ engine: films, model: film-xl }]
  - { id: acme/clip, endpoints: [video], media: { sides: { min: 255, max: 1281 }, default_size: 640*360 }, routes: [{ engine: films }] }
engines: [{ id: pictures, kind: builtin }, { id: films, kind: builtin }]`,
  'tollgate.yaml',
  {},
);

class RecordingEngine extends ScriptedEngine {
  readonly requests: EngineRequest[] = [];

  override async submit(request: EngineRequest): Promise<string> {
    this.requests.push(request);
    return await super.submit(request);
  }
}

const journals = temporaryFolder('media-models');
const pictures = new RecordingEngine(join(journals, 'pictures'), { id: 'pictures' });
const films = new RecordingEngine(join(journals, 'films'), { id: 'films' });
let it: TaskTest;
let server: TaskServer;
let secret: string;

beforeAll(async () => {
  it = await TaskTest.open({
    redisDatabase: 13,
    catalog: new CatalogService(() => CATALOG),
    engine: pictures,
    moreEngines: [films],
  });
  secret = (await createKey(it.database.database, it.who.accountId)).secret;
  server = await startTaskServer(it, secret);
  it.stack.start();
});

afterAll(async () => {
  await server?.close();
  await it?.close();
});

const PHOTO = '/v3/async/acme/photo';
const FILM = '/v3/async/video-fast';

async function order(path: string, body: object): Promise<string> {
  const { status, json } = await server.call('POST', path, { body });
  expect({ status, json }).toMatchObject({ status: 200 });
  return json.task_id;
}

/** Returns the task, with its charge and status, once it has ended. */
async function ended(taskId: string) {
  return await eventually(
    async () => {
      const { json } = await server.call('GET', `/api/v1/tasks/${taskId}`);
      return json.data.completed_at === null ? undefined : json.data;
    },
    30_000,
    `the end of ${taskId}`,
  );
}

test.each([
  [
    PHOTO,
    {},
    { charged_amount: '0.02', model: 'acme/photo', endpoint: PHOTO },
    { width: 1024, height: 1024, steps: 28 },
  ],
  [
    PHOTO,
    { size: '2048*1024', steps: 50 },
    { charged_amount: '0.035' },
    { width: 2048, height: 1024, steps: 50 },
  ],
  [
    '/v3/async/photo',
    { model_name: 'photo' },
    { model: 'acme/photo', endpoint: PHOTO },
    { model: 'photo-v2' },
  ],
  ['/v3/async/image-turbo', {}, { charged_amount: '0.005', model: 'image-turbo' }, { steps: undefined }],
])('makes and charges an image at %s %j', async (path, body, task, request) => {
  const id = await order(path, { prompt: 'run=1', ...body });
  expect(await ended(id)).toMatchObject({ status: 'succeeded', kind: 'image', ...task });
  expect(pictures.requests.at(-1)).toMatchObject({ kind: 'image', seconds: undefined, ...request });
});

test.each([
  ['/v3/async/image-turbo', { image: 'https://example.com/cat.png' }, 'image: must be omitted'],
  ['/v3/async/image-turbo', { mask_image_base64: 'AAAA' }, 'mask_image_base64: must be omitted'],
  ['/v3/async/image-turbo', { image_num: 4 }, 'image_num: must be 1: an order makes one output'],
  ['/v3/async/image-turbo', { width: 512, height: 768 }, 'width: is not read here: use size'],
  ['/api/v1/images/generations', { model: 'photo', image: ['AAAA'] }, 'image: must be omitted'],
  [FILM, { model_name: 'acme/film', image_url: 'https://example.com/cat.png' }, 'image_url: must be omitted'],
  [FILM, { model_name: 'acme/film', last_image: 'AAAA' }, 'last_image: must be omitted'],
  [FILM, { model_name: 'acme/film', duration: 10 }, 'duration: is not read here: use seconds'],
  [FILM, { model_name: 'acme/film', size: '1920*1080' }, 'size: is not read here: use width and height'],
  ['/api/v1/videos', { model: 'acme/film', images: ['AAAA'] }, 'images: must be omitted'],
  ['/api/v1/videos', { model: 'acme/film', size: '1280x721' }, 'size: must be 1280x720 or 1920x1080'],
  ['/api/v1/videos', { model: 'acme/clip', size: '853x480' }, 'each 255 to 1281 pixels, even'],
])('refuses at %s what it would not make, %j', async (path, body, message) => {
  const { status, json } = await server.call('POST', path, { body: { prompt: 'run=1', ...body } });
  expect([status, json.error.message]).toEqual([400, expect.stringContaining(message)]);
});

test.each([
  ['/v3/async/image-turbo', { images: [], image: null, image_num: 1, width: 1024, height: 1024 }],
  [FILM, { model_name: 'acme/film', size: '1280x720', duration: 5, n: 1, video_length: 81 }],
])('accepts at %s members that agree with the order, %j', async (path, body) => {
  expect(await order(path, { prompt: 'run=1', ...body })).toMatch(/^gen-/);
});

test.each([
  [{}, '0.26', { width: 1280, height: 720, seconds: 5 }],
  [
    { width: 1920, height: 1080, seconds: 10, seed: 3 },
    '1.21',
    { width: 1920, height: 1080, seconds: 10, seed: 3n },
  ],
])('makes and charges a video of another model, %j', async (body, charged, request) => {
  const id = await order(FILM, { model_name: 'acme/film', prompt: 'run=1', ...body });
  expect(await ended(id)).toMatchObject({ status: 'succeeded', model: 'acme/film', charged_amount: charged });
  expect(films.requests.at(-1)).toMatchObject({
    kind: 'video',
    model: 'film-xl',
    steps: undefined,
    ...request,
  });
});

test("lets the Novita client order both, and poll them like Novita's own", async () => {
  const sdk = new NovitaSDK(`Bearer ${secret}`);
  sdk.setBaseUrl(server.url);
  const orders: [string, object][] = [
    [PHOTO, { prompt: 'run=1' }],
    [FILM, { model_name: 'acme/film', prompt: 'run=1', seconds: 10 }],
  ];
  for (const [url, data] of orders) {
    const { task_id } = (await sdk.httpFetch({ url, method: 'POST', data })) as { task_id: string };
    await ended(task_id);
    expect((await sdk.progress({ task_id })).task.status).toBe('TASK_STATUS_SUCCEED');
  }
});

describe('rejects with a hint at what is offered', () => {
  test.each([
    [PHOTO, { size: '512*512' }, 'size: must be 1024*1024 or 2048*1024'],
    [PHOTO, { steps: 9 }, 'steps: '],
    [PHOTO, { seconds: 5 }, 'seconds: is not supported by this model; leave it out'],
    [FILM, { model_name: 'acme/film', seconds: 7 }, 'seconds: must be 5 or 10'],
    [FILM, { model_name: 'acme/film', steps: 4 }, 'steps: is not supported by this model; leave it out'],
    [FILM, { model_name: 'acme/film', width: 720 }, 'width: must be 1280 or 1920'],
    [
      FILM,
      { model_name: 'acme/film', width: 1920 },
      'height: must be 720 when width is 1280, and 1080 when width is 1920',
    ],
    [FILM, { model_name: 'acme/film', seed: 1e10 }, 'seed: '],
    [FILM, { model_name: 'acme/clip', width: 853, height: 480 }, 'width: must be even'],
  ])('%s %j', async (path, body, message) => {
    const before = await it.openHolds();
    const { status, json } = await server.call('POST', path, { body: { prompt: 'x', ...body } });
    expect({ status, code: json.error.code }).toEqual({ status: 400, code: 'invalid_parameter' });
    expect(json.message).toContain(message);
    expect(await it.openHolds()).toBe(before);
  });

  test.each([
    ['/v3/async/acme/foto', {}, 404, 'Did you mean "acme/photo"?'],
    [FILM, { model_name: 'acme/fim' }, 404, 'Did you mean "acme/film"?'],
    ['/v3/async/acme/film', {}, 400, 'POST /v3/async/video-fast with "model_name": "acme/film"'],
    [FILM, { model_name: 'acme/photo' }, 400, 'POST /v3/async/acme/photo'],
  ])('%s %j', async (path, body, status, hint) => {
    const answer = await server.call('POST', path, { body: { prompt: 'x', ...body } });
    expect(answer.status).toBe(status);
    expect(answer.json.message).toContain(hint);
  });
});
