import { fileURLToPath } from 'node:url';
import sharp from 'sharp';
import { comfyUiKind } from '../../src/engines/comfyui/comfyui-engine.ts';
import type { Engine, EngineRequest } from '../../src/engines/engine.types.ts';
import { falKind } from '../../src/engines/fal/fal-engine.ts';
import { httpKind } from '../../src/engines/http/http-engine.ts';
import { novitaKind } from '../../src/engines/novita/novita-engine.ts';
import { openAiKind } from '../../src/engines/openai/openai-engine.ts';
import type { EngineKind } from '../../src/engines/registry.ts';
import { sdCppKind } from '../../src/engines/sdcpp/sdcpp-engine.ts';
import { createFfmpeg } from '../../src/media/ffmpeg.ts';
import { postprocess } from '../../src/media/postprocess.ts';
import { ComfyUiServer } from '../factories/engine-comfyui.ts';
import { FalServer } from '../factories/engine-fal.ts';
import { NovitaServer } from '../factories/engine-novita.ts';
import { OpenAiImageServer } from '../factories/engine-openai.ts';
import { REPLICATE, ReplicateServer } from '../factories/engine-replicate.ts';
import { SdServer } from '../factories/engine-sdcpp.ts';
import type { EngineServer } from '../factories/engine-server.ts';
import { eventually } from '../factories/eventually.ts';
import { submitImage } from '../factories/task-order.ts';
import { TaskTest } from '../factories/task-test.ts';
import { temporaryFolder } from '../factories/temporary-folder.ts';

const FOLDER = fileURLToPath(new URL('.', import.meta.url));
const WORKFLOW = { kind: 'image', file: 'workflows/tiny.json', parameters: { prompt: '6.inputs.text' } };
const CHARGE = '-5000000';

interface Subject {
  readonly name: string;
  readonly kind: EngineKind;
  readonly server: EngineServer;
  readonly settings: Record<string, unknown>;
  /** Number of submits the upstream has accepted after a crash between accepting and storing, and how the task ends. */
  readonly crash: { readonly accepted: number; readonly state: 'succeeded' | 'failed' };
  /** Error code of a task whose content the upstream refuses. */
  readonly refusal: string;
}

const SUBJECTS: readonly Subject[] = [
  {
    name: 'openai',
    kind: openAiKind,
    server: new OpenAiImageServer(),
    settings: { paid: true },
    crash: { accepted: 1, state: 'failed' },
    refusal: 'content_refused',
  },
  {
    name: 'comfyui',
    kind: comfyUiKind(FOLDER),
    server: new ComfyUiServer(),
    settings: { workflows: { 'z-image-turbo': WORKFLOW } },
    crash: { accepted: 1, state: 'succeeded' },
    refusal: 'upstream_misconfigured',
  },
  {
    name: 'sdcpp',
    kind: sdCppKind,
    server: new SdServer(),
    settings: {},
    crash: { accepted: 2, state: 'succeeded' },
    refusal: 'upstream_rejected',
  },
  {
    name: 'novita',
    kind: novitaKind,
    server: new NovitaServer(),
    settings: {},
    crash: { accepted: 1, state: 'failed' },
    refusal: 'content_refused',
  },
  {
    name: 'novita as another Tollgate',
    kind: novitaKind,
    server: Object.assign(new NovitaServer(), { tollgate: true }),
    settings: { dialect: 'tollgate' },
    crash: { accepted: 1, state: 'succeeded' },
    refusal: 'content_refused',
  },
  {
    name: 'fal',
    kind: falKind,
    server: new FalServer(),
    settings: { api_key: 'fal-key' },
    crash: { accepted: 1, state: 'failed' },
    refusal: 'content_refused',
  },
];

describe.each(SUBJECTS)('a task on $name', ({ name, kind, server, settings, crash, refusal }) => {
  let it: TaskTest;
  let engine: Engine;

  beforeAll(async () => {
    await server.start();
    server.media = await plainPng(528);
    const base_url = name === 'openai' ? `${server.url}/v1` : server.url;
    engine = kind.create({ id: 'gpu', kind: name, poll_interval_ms: 10, base_url, ...settings });
    it = await openTaskTest(engine);
  });

  afterAll(async () => {
    await it?.close();
    await server.close();
  });

  test('succeeds with the exact size, charged once; fails free of charge; loses only time to a 429', async () => {
    const worker = it.stack.start();
    server.reset('rate_limit', 1);
    const made = await submitImage(it.stack, it.who, 'a lighthouse', { seed: 7 });
    const { task, media } = await it.ended(made);
    expect(task).toMatchObject({ state: 'succeeded', failures: 0 });
    expect(await it.events(made)).toContain('queued upstream_rate_limited');
    expect(media).toHaveLength(1);
    expect(await it.charges(made)).toEqual([CHARGE]);
    expect(server.accepted).toBe(1);

    server.reset('refuses_content');
    const refused = await submitImage(it.stack, it.who, 'something else');
    if (refusal === 'upstream_misconfigured') {
      // tried again after waits that are meant for people
      await eventually(async () => (await it.events(refused)).includes(`queued ${refusal}`));
      await it.pool.query('UPDATE tasks SET failures = 4, not_before = clock_timestamp() WHERE id = $1', [
        refused,
      ]);
    }
    expect((await it.ended(refused)).task).toMatchObject({ state: 'failed', errorCode: refusal });
    server.reset('output_is_html');
    const spoiled = await submitImage(it.stack, it.who, 'a third thing');
    expect((await it.ended(spoiled)).task).toMatchObject({
      state: 'failed',
      errorCode: 'media_type_refused',
    });
    expect([await it.charges(refused), await it.charges(spoiled)]).toEqual([[], []]);
    expect(await it.openHolds()).toBe(0);
    await worker.close();
  });

  test('is never paid twice when its process died between "accepted" and the stored reference', async () => {
    server.reset();
    const id = await submitImage(it.stack, it.who, 'a lighthouse', { seed: 7 });
    await it.stack.claims.claim(id, 'generating', 'dead', 60_000);
    if (engine.capabilities.paid) {
      await it.stack.claims.markSubmitting(id, 1, 'gpu');
    }
    await engine.submit(orderOf(id), {
      folder: temporaryFolder('dead'),
      signal: new AbortController().signal,
      onProgress: () => undefined,
    });
    while (server.accepted === 0) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    await it.pool.query('UPDATE tasks SET lease_until = clock_timestamp() WHERE id = $1', [id]);
    await it.stack.services.sweeps.sweep();
    const worker = it.stack.start();
    const { task } = await it.ended(id);
    await worker.close();
    expect(task.state).toBe(crash.state);
    expect(server.accepted).toBe(crash.accepted);
    expect(await it.charges(id)).toEqual(crash.state === 'succeeded' ? [CHARGE] : []);
    if (crash.state === 'failed') {
      expect(task.errorCode).toBe('submit_unconfirmed');
    }
    expect(await it.openHolds()).toBe(0);
  });
});

describe('a task on a service that answers a repeated key with the first run', () => {
  const server = new ReplicateServer();
  let it: TaskTest;

  beforeAll(async () => {
    await server.start();
    server.media = await plainPng(512);
    const engine = httpKind.create({
      ...{ ...REPLICATE, id: 'gpu', kind: 'http', poll_interval_ms: 10, base_url: server.url },
      submit: { ...REPLICATE.submit, path: '/v1/models/acme/tiny/predictions' },
      idempotency_header: 'Idempotency-Key',
    });
    it = await openTaskTest(engine);
  });

  afterAll(async () => {
    await it?.close();
    await server.close();
  });

  const keysSent = () =>
    server.requests.flatMap(({ method, headers }) => (method === 'POST' ? [headers['idempotency-key']] : []));

  test.each([
    ['gets a new run, under another key, when the first has failed', 'fails', ['', '-1'], 2],
    [
      'keeps its run, and its key, when the answer to the order was lost',
      'reset_after_accepting',
      ['', ''],
      1,
    ],
  ] as const)('%s', async (_, fault, endings, accepted) => {
    const worker = it.stack.start();
    server.reset(fault, 1);
    const id = await submitImage(it.stack, it.who, 'a lighthouse', { seed: 7 });
    expect((await it.ended(id)).task.state).toBe('succeeded');
    expect(keysSent()).toEqual(endings.map((ending) => id + ending));
    expect(server.accepted).toBe(accepted);
    expect(await it.charges(id)).toEqual([CHARGE]);
    await worker.close();
  });
});

function plainPng(width: number): Promise<EngineServer['media']> {
  const background = { r: 40, g: 90, b: 140 };
  return sharp({ create: { width, height: 512, channels: 3, background } })
    .png()
    .toBuffer();
}

/** Opens a test whose worker runs the engine and really post-processes images. */
function openTaskTest(engine: Engine): Promise<TaskTest> {
  const ffmpeg = createFfmpeg({ ffmpegPath: 'ffmpeg', ffprobePath: 'ffprobe' });
  return TaskTest.open({ engine, postprocess: (job) => postprocess(job, ffmpeg) });
}

function orderOf(taskId: string): EngineRequest {
  return {
    taskId,
    attempt: 1,
    kind: 'image',
    model: 'z-image-turbo',
    prompt: 'a lighthouse',
    seed: 7n,
    width: 512,
    height: 512,
    steps: undefined,
    seconds: undefined,
  };
}
