import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { comfyUiKind, promptIdOf } from '../../src/engines/comfyui/comfyui-engine.ts';
import { fractionOf } from '../../src/engines/comfyui/progress-sockets.ts';
import type { Engine } from '../../src/engines/engine.types.ts';
import { falKind } from '../../src/engines/fal/fal-engine.ts';
import { httpKind } from '../../src/engines/http/http-engine.ts';
import { novitaKind } from '../../src/engines/novita/novita-engine.ts';
import { openAiKind } from '../../src/engines/openai/openai-engine.ts';
import { scrubPrompt } from '../../src/engines/openai/request-body.ts';
import type { EngineKind } from '../../src/engines/registry.ts';
import { sdCppKind } from '../../src/engines/sdcpp/sdcpp-engine.ts';
import { bytesOf } from '../../src/lib/file-content.ts';
import { attempt, engineRequest, freshMemory } from '../factories/engine-attempt.ts';
import { ComfyUiServer } from '../factories/engine-comfyui.ts';
import { FalServer } from '../factories/engine-fal.ts';
import { NovitaServer } from '../factories/engine-novita.ts';
import { OpenAiImageServer } from '../factories/engine-openai.ts';
import { REPLICATE, ReplicateServer } from '../factories/engine-replicate.ts';
import { SdServer } from '../factories/engine-sdcpp.ts';
import { eventually } from '../factories/eventually.ts';
import { temporaryFolder } from '../factories/temporary-folder.ts';

const openai = new OpenAiImageServer();
const comfyui = new ComfyUiServer();
const replicate = new ReplicateServer();
const sdcpp = new SdServer();
const novita = new NovitaServer();
const fal = new FalServer();
const servers = [openai, comfyui, replicate, sdcpp, novita, fal];
const engines: Engine[] = [];
const FOLDER = fileURLToPath(new URL('.', import.meta.url));
const BIG_SEED = 9_999_999_999n;
const { signal } = new AbortController();

beforeAll(() => Promise.all(servers.map((server) => server.start())));
beforeEach(() => {
  for (const server of servers) {
    server.reset();
  }
});
afterAll(async () => {
  await Promise.all(engines.map((engine) => engine.close()));
  await Promise.all(servers.map((server) => server.close()));
});

function engine(kind: EngineKind, settings: Record<string, unknown>): Engine {
  const created = kind.create({ id: 'gpu', kind: 'some', poll_interval_ms: 10, ...settings });
  engines.push(created);
  return created;
}

function context(onProgress: (fraction: number) => void = () => undefined) {
  return { folder: temporaryFolder('wire'), signal, onProgress };
}

describe('openai', () => {
  const video = {
    kind: 'video',
    model: 'wan-2.2',
    width: 1280,
    height: 720,
    steps: 20,
    seed: BIG_SEED,
  } as const;

  test('sends a video as JSON, in SGLang’s format', async () => {
    const sglang = engine(openAiKind, { base_url: `${openai.url}/v1`, extra: { seconds: 5, fps: 16 } });
    await attempt(sglang, engineRequest(video));
    expect(openai.submitted).toEqual({
      seconds: 5,
      fps: 16,
      model: 'wan-2.2',
      prompt: 'a lighthouse at dusk',
      size: '1280x720',
      seed: Number(BIG_SEED % 2_147_483_648n),
      num_inference_steps: 20,
    });
  });

  test('sends a video as a form, in vLLM-Omni’s format', async () => {
    const settings = { body_encoding: 'multipart', size_field: 'width_height', api_key: 'sk-own' };
    const omni = engine(openAiKind, { base_url: `${openai.url}/v1`, ...settings, extra: { num_frames: 81 } });
    await attempt(omni, engineRequest({ ...video, model: 'default', width: 1270 }));
    const [{ headers, text }] = openai.requests as [(typeof openai.requests)[0]];
    expect(headers['content-type']).toMatch(/^multipart\/form-data; boundary=/);
    expect(headers.authorization).toBe('Bearer sk-own');
    const parts = Object.fromEntries(
      [...text.matchAll(/name="(\w+)"\r\n\r\n(.*)\r\n/g)].map((part) => part.slice(1, 3)),
    );
    expect(parts).toEqual({
      num_frames: '81',
      prompt: 'a lighthouse at dusk',
      width: '1280',
      height: '720',
      seed: '1410065407',
      num_inference_steps: '20',
    });
  });

  test('fetches an image by URL from a service with fixed sizes and no seeds', async () => {
    const hosted = engine(openAiKind, {
      base_url: `${openai.url}/v1`,
      paid: true,
      sizes: ['1536x1024', '1024x1024'],
      seed_field: 'none',
      steps_field: 'none',
      image_response: 'url',
    });
    openai.imageAs = 'url';
    const { outputs } = await attempt(hosted, engineRequest({ model: 'gpt-image-1', steps: 8 }));
    openai.imageAs = 'b64';
    expect((await bytesOf(outputs[0]!.file)).equals(openai.media)).toBe(true);
    expect(openai.submitted).toEqual({
      model: 'gpt-image-1',
      prompt: 'a lighthouse at dusk',
      n: 1,
      response_format: 'url',
      size: '1024x1024',
    });
    await expect(attempt(hosted, engineRequest({ width: 1500, height: 1500 }))).rejects.toMatchObject({
      failure: { code: 'unsupported_size', retryable: false },
    });
  });

  test('does not pay for an image again because its download stumbles', async () => {
    const hosted = engine(openAiKind, { base_url: `${openai.url}/v1`, paid: true });
    openai.imageAs = 'url';
    // file servers may be seconds behind
    openai.reset('output_missing', 3);
    expect((await attempt(hosted, engineRequest())).outputs).toHaveLength(1);
    expect(openai.accepted).toBe(1);
    openai.reset('output_missing');
    await expect(attempt(hosted, engineRequest())).rejects.toMatchObject({
      failure: { code: 'output_unavailable', retryable: false },
    });
    openai.imageAs = 'b64';
    expect(openai.accepted).toBe(1);
  });

  test('keeps the prompt from smuggling in parameters', () => {
    const tag = '<sd_cpp_extra_args>{"batch_count":64}</sd_cpp_extra_args>';
    expect(scrubPrompt(`a cat ${tag}`)).toBe('a cat {"batch_count":64}');
    expect(scrubPrompt('a <sd_cpp_<sd_cpp_extra_args>extra_args>{}</ SD_CPP_EXTRA_ARGS >')).toBe('a {}');
    expect(scrubPrompt('a < b and c > d')).toBe('a < b and c > d');
  });
});

describe('comfyui', () => {
  const settings = () => ({
    base_url: comfyui.url,
    workflows: {
      tiny: {
        kind: 'image',
        file: 'workflows/tiny.json',
        parameters: {
          prompt: '6.inputs.text',
          seed: ['3.inputs.seed'],
          width: '5.inputs.width',
          height: '5.inputs.height',
          steps: '3.inputs.steps',
        },
        output_node: '9',
      },
    },
  });
  const create = () => engine(comfyUiKind(FOLDER), settings());

  test('puts the parameters where the map says, and changes nothing else in the workflow', async () => {
    const prompt = '"}, "9": {"class_type": "Evil"';
    const request = engineRequest({ prompt, seed: BIG_SEED, steps: 8 });
    const { outputs } = await attempt(create(), request);
    const workflow = JSON.parse(readFileSync(join(FOLDER, 'workflows/tiny.json'), 'utf8'));
    workflow['6'].inputs.text = prompt;
    Object.assign(workflow['3'].inputs, { seed: Number(BIG_SEED), steps: 8 });
    Object.assign(workflow['5'].inputs, { width: 512, height: 304 });
    workflow['9'].inputs.filename_prefix += `-${request.taskId}-1`;
    expect(comfyui.submitted).toMatchObject({
      prompt: workflow,
      prompt_id: request.taskId,
      client_id: request.taskId,
    });
    expect(outputs).toHaveLength(1);
    const view = comfyui.requests.find((seen) => seen.path === '/view');
    expect(Object.fromEntries(view!.query)).toEqual({
      filename: 'ComfyUI_00001_.png',
      subfolder: 'day one',
      type: 'output',
    });
    expect(view?.headers.accept).toBe('*/*');
  });

  test('leaves no trace of one task in the workflow of the next', async () => {
    const one = create();
    await attempt(one, engineRequest({ prompt: 'with eight steps', steps: 8 }));
    await attempt(one, engineRequest({ steps: undefined, seconds: 5 }));
    expect(comfyui.submitted.prompt['3'].inputs.steps).toBe(20);
  });

  test('finds a run by the task’s id, and is certain when the server has not seen it', async () => {
    const request = engineRequest();
    const first = create();
    expect(await first.recover(request, context())).toBeNull();
    const reference = await first.submit(request, context());
    await first.close();
    expect(await create().recover(request, context())).toBe(reference);
  });

  test('repeats a failed run under another id that is the same from any host', async () => {
    comfyui.reset('fails', 1);
    const request = engineRequest();
    await expect(attempt(create(), request)).rejects.toMatchObject({ failure: { code: 'out_of_memory' } });
    const again = attempt(create(), request, { memory: { ...freshMemory(), attempt: 2 } });
    expect((await again).outputs).toHaveLength(1);
    expect([...comfyui.runs.keys()]).toEqual([request.taskId, promptIdOf(request.taskId, 1)]);
    expect(promptIdOf(request.taskId, 1)).toMatch(
      /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/,
    );
  });

  test('runs again when the files of the last run were broken', async () => {
    const request = engineRequest();
    await attempt(create(), request);
    const memory = { ...freshMemory(), attempt: 3 };
    await attempt(create(), { ...request, again: true }, { memory });
    expect(memory.engineReference).toBe(promptIdOf(request.taskId, 1));
  });

  test('keeps a run that was paid for when its file is not there yet', async () => {
    const paid = engine(comfyUiKind(FOLDER), { ...settings(), comfy_org_api_key: 'comfyui-key' });
    const request = engineRequest();
    const memory = freshMemory();
    comfyui.reset('output_missing', 1);
    await expect(attempt(paid, request, { memory })).rejects.toMatchObject({
      failure: { code: 'output_unavailable', retryable: true },
    });
    expect((await attempt(paid, request, { memory })).outputs).toHaveLength(1);
    expect([...comfyui.runs.keys()]).toEqual([request.taskId]);
  });

  test('passes on progress from the websocket while the run lasts, and closes the socket with it', async () => {
    comfyui.reset('never_finishes');
    const one = create();
    const request = engineRequest();
    const heard: number[] = [];
    const own = context((fraction) => void heard.push(fraction));
    const reference = await one.submit(request, own);
    await one.poll(reference, request, own);
    await eventually(async () => comfyui.listeners === 1);
    comfyui.tell(reference, 'progress', { value: 5, max: 20, node: '3' });
    comfyui.tell(reference, 'progress', { prompt_id: 'somebody-else', value: 20, max: 20, node: '3' });
    comfyui.tell(reference, 'progress_state', {
      nodes: { 3: { value: 10, max: 20 }, 5: { value: 1, max: 1 } },
    });
    await eventually(async () => heard.length === 2);
    expect(heard).toEqual([0.25 * 0.95, (11 / 23) * 0.95]);
    comfyui.fault = undefined;
    await eventually(async () => (await one.poll(reference, request, own)).state === 'succeeded');
    await eventually(async () => comfyui.listeners === 0);
  });

  test('leaves no socket behind after a refused or failed submit, nor with a server that chooses its own ids', async () => {
    comfyui.reset('refuses_content');
    await expect(create().submit(engineRequest(), context())).rejects.toMatchObject({
      failure: { code: 'upstream_misconfigured' },
    });
    comfyui.reset();
    comfyui.ownIds = true;
    const request = engineRequest();
    const { outputs } = await attempt(create(), request);
    comfyui.ownIds = false;
    expect(outputs).toHaveLength(1);
    expect(comfyui.runs.has(request.taskId)).toBe(false);
    await eventually(async () => comfyui.listeners === 0);
  });

  test('ignores messages that are not progress of its run', () => {
    const ours = { promptId: 'p', nodes: 2 };
    const message = (type: string, data: object) => JSON.stringify({ type, data });
    expect(fractionOf('not json', ours)).toBeUndefined();
    expect(fractionOf(message('progress', { prompt_id: 'p', value: 1, max: 1 }), ours)).toBeUndefined();
    expect(fractionOf(message('status', { status: {} }), ours)).toBeUndefined();
    expect(fractionOf(message('progress', { prompt_id: 'p', value: 'x', max: 9 }), ours)).toBeUndefined();
  });

  test('removes a queued run from the queue and interrupts a running one by its id', async () => {
    comfyui.reset('never_finishes');
    const one = create();
    const [first, second] = [engineRequest(), engineRequest()];
    const running = await one.submit(first, context());
    const queued = await one.submit(second, context());
    expect(await one.poll(queued, second, context())).toEqual({ state: 'queued', queuePosition: 1 });
    expect(await one.cancel(queued, second)).toBe('stopped');
    expect(comfyui.interrupted).toEqual([]);
    expect(await one.cancel(running, first)).toBe('stopped');
    expect(comfyui.interrupted).toEqual([running]);
    expect(await one.poll(running, first, context())).toEqual({ state: 'canceled' });
  });

  test('asks a server that interrupts whatever runs only while nobody else waits', async () => {
    comfyui.reset('never_finishes');
    comfyui.old = true;
    const one = create();
    const [first, second] = [engineRequest(), engineRequest()];
    const running = await one.submit(first, context());
    const queued = await one.submit(second, context());
    expect(await one.cancel(running, first)).toBe('unsupported');
    expect(await one.cancel(queued, second)).toBe('stopped');
    expect(await one.cancel(running, first)).toBe('stopped');
    comfyui.old = false;
  });

  test('asks a server that cancels jobs to do so, wherever the run is', async () => {
    comfyui.reset('never_finishes');
    comfyui.cancelsJobs = true;
    const one = create();
    const [first, second] = [engineRequest(), engineRequest()];
    const running = await one.submit(first, context());
    const queued = await one.submit(second, context());
    expect(await one.cancel(queued, second)).toBe('stopped');
    expect(await one.cancel(running, first)).toBe('stopped');
    expect(comfyui.canceledJobs).toEqual([queued, running]);
    expect(comfyui.requests.filter(({ method, path }) => method === 'POST' && path === '/queue')).toEqual([]);
    expect(await one.cancel(running, first)).toBe('stopped');
    comfyui.cancelsJobs = false;
  });

  test('reports what the server lacks, a line each: node classes, and values like a checkpoint', async () => {
    expect(await create().findMistakes?.(signal)).toEqual([]);
    const { KSampler: _, ...nodes } = comfyui.nodes;
    comfyui.nodes = nodes;
    const graph = JSON.parse(readFileSync(join(FOLDER, 'workflows/tiny.json'), 'utf8'));
    graph['4'] = { class_type: 'CheckpointLoaderSimple', inputs: { ckpt_name: 'gone.safetensors' } };
    const folder = temporaryFolder('workflows');
    writeFileSync(join(folder, 'own.json'), JSON.stringify(graph));
    const workflows = { own: { kind: 'image', file: 'own.json', parameters: { prompt: '6.inputs.text' } } };
    const lacking = engine(comfyUiKind(folder), { base_url: comfyui.url, workflows });
    expect(await lacking.findMistakes?.(signal)).toEqual([
      'workflows.own, node 3: the server has no KSampler',
      `workflows.own, node 4 (CheckpointLoaderSimple): ckpt_name "gone.safetensors" is not one of the server's 2`,
    ]);
    comfyui.nodes = { ...nodes, KSampler: _ ?? {} };
  });

  test('reports how full its memory is', async () => {
    expect(await create().readMemory?.(signal)).toEqual([
      { device: 'cuda:0', totalBytes: 24e9, freeBytes: 4e9 },
    ]);
  });

  test('blames the operator for a graph accepted in part that makes no file, and runs it again once it is fixed', async () => {
    comfyui.nodeErrors = { 9: { errors: [{ details: "ckpt_name: 'gone' not in list" }] } };
    const request = engineRequest();
    expect((await attempt(create(), request)).outputs).toHaveLength(1);
    comfyui.reset('no_output');
    await expect(attempt(create(), request)).rejects.toMatchObject({
      failure: { code: 'upstream_misconfigured', said: expect.stringContaining('ckpt_name') },
    });
    expect(comfyui.accepted).toBe(0);
    comfyui.nodeErrors = {};
    comfyui.reset('no_output');
    await expect(attempt(create(), request)).rejects.toMatchObject({ failure: { code: 'no_output' } });
  });

  test('sends the key of partner nodes with each run and treats such runs as billed', async () => {
    const partner = engine(comfyUiKind(FOLDER), { ...settings(), comfy_org_api_key: 'comfyui-key' });
    const request = engineRequest();
    expect(await partner.recover(request, context())).toBe('unknown');
    await attempt(partner, request);
    expect(comfyui.submitted.extra_data).toEqual({
      preview_method: 'none',
      api_key_comfy_org: 'comfyui-key',
    });
    expect(partner.capabilities.paid).toBe(true);
    await attempt(create(), engineRequest());
    expect(comfyui.submitted.extra_data).toEqual({ preview_method: 'none' });
  });

  test('never sends a model without a workflow to the server', async () => {
    await expect(attempt(create(), engineRequest({ model: 'other' }))).rejects.toMatchObject({
      failure: { code: 'unknown_workflow', retryable: false },
    });
    expect(comfyui.accepted).toBe(0);
  });
});

describe('sdcpp', () => {
  test('sends an image and a video in the server’s own format', async () => {
    const server = engine(sdCppKind, { base_url: sdcpp.url, sample_params: { sample_method: 'euler' } });
    await attempt(server, engineRequest({ kind: 'video', seconds: 5 }));
    expect(sdcpp.submitted).toMatchObject({ video_frames: 80, fps: 16 });
    expect(sdcpp.submitted).not.toHaveProperty('negative_prompt');
    await attempt(server, engineRequest({ seed: BIG_SEED, steps: 8 }));
    expect(sdcpp.submitted).toEqual({
      prompt: 'a lighthouse at dusk',
      width: 512,
      height: 304,
      seed: Number(BIG_SEED),
      sample_params: { sample_method: 'euler', sample_steps: 8 },
      batch_count: 1,
      output_format: 'png',
      embed_image_metadata: false,
    });
    const { outputs } = await attempt(server, engineRequest({ kind: 'video', width: 1280, height: 720 }));
    expect(sdcpp.submitted).toMatchObject({ video_frames: 81, fps: 16, output_format: 'webm' });
    expect((await bytesOf(outputs[0]!.file)).equals(sdcpp.media)).toBe(true);
  });

  test('sends a video with the defaults of the server’s command line, in a format that it can write', async () => {
    const server = engine(sdCppKind, { base_url: sdcpp.url, negative_prompt: 'text' });
    const video = engineRequest({ kind: 'video' });
    sdcpp.capabilities = {
      supported_modes: ['vid_gen'],
      output_formats_by_mode: { vid_gen: ['webp', 'avi'] },
      defaults_by_mode: { vid_gen: { video_frames: 33, fps: 24 } },
    };
    await attempt(server, video);
    expect(sdcpp.submitted).toMatchObject({ negative_prompt: 'text', output_format: 'avi' });
    expect(sdcpp.submitted).not.toHaveProperty('video_frames');
    expect(sdcpp.submitted).not.toHaveProperty('fps');
    await attempt(server, engineRequest({ kind: 'video', seconds: 5 }));
    expect(sdcpp.submitted).toMatchObject({ video_frames: 120, fps: 24 });
    sdcpp.capabilities = { defaults_by_mode: { vid_gen: { video_frames: 1, fps: 24 } } };
    await attempt(server, engineRequest({ kind: 'video' }));
    expect(sdcpp.submitted).toMatchObject({ video_frames: 81, fps: 24, output_format: 'webm' });
    sdcpp.capabilities = undefined;
  });

  test('reports what its model or build cannot do in advance, as a mistake of the operator', async () => {
    sdcpp.capabilities = {
      supported_modes: ['img_gen'],
      output_formats_by_mode: { vid_gen: ['avi'] },
    };
    const wrong = { base_url: sdcpp.url, kinds: ['video'], video_format: 'webm' };
    const server = engine(sdCppKind, wrong);
    expect(await server.findMistakes?.(signal)).toEqual([
      'kinds: video, but its model supports img_gen',
      'video_format: webm is not one of avi',
    ]);
    await expect(attempt(server, engineRequest({ kind: 'video' }))).rejects.toMatchObject({
      failure: { code: 'upstream_misconfigured' },
    });
    expect(await engine(sdCppKind, { base_url: sdcpp.url }).findMistakes?.(signal)).toEqual([]);
    sdcpp.capabilities = undefined;
  });

  test('cancels a queued job but not a running one', async () => {
    const server = engine(sdCppKind, { base_url: sdcpp.url });
    sdcpp.reset('never_finishes');
    const request = engineRequest();
    const queued = await server.submit(request, context());
    expect(await server.poll(queued, request, context())).toEqual({ state: 'queued', queuePosition: 1 });
    expect(await server.cancel(queued, request)).toBe('stopped');
    const running = await server.submit(request, context());
    await server.poll(running, request, context());
    await server.poll(running, request, context());
    expect(await server.cancel(running, request)).toBe('unsupported');
  });
});

describe('novita', () => {
  test('does not take the answer about another task for its own', async () => {
    const hosted = engine(novitaKind, { base_url: novita.url, api_key: 'sk-novita' });
    const request = engineRequest();
    const reference = await hosted.submit(request, context());
    novita.change = (reply) => {
      const json = reply.json as { task: object };
      return { ...reply, json: { ...json, task: { ...json.task, task_id: 'of-somebody-else' } } };
    };
    const refused = { failure: { code: 'upstream_malformed', retryable: true } };
    await expect(hosted.poll(reference, request, context())).rejects.toMatchObject(refused);
    await expect(hosted.collect(reference, request, context())).rejects.toMatchObject(refused);
    novita.change = undefined;
    await eventually(async () => (await hosted.poll(reference, request, context())).state === 'succeeded');
  });

  test('passes parameters unchanged', async () => {
    const hosted = engine(novitaKind, { base_url: novita.url, api_key: 'sk-novita' });
    await attempt(hosted, engineRequest({ model: 'z-image-turbo', width: 257, height: 1536, seed: 7n }));
    expect(novita.requests[0]).toMatchObject({
      path: '/v3/async/z-image-turbo',
      json: { prompt: 'a lighthouse at dusk', seed: 7, size: '257*1536' },
      headers: { authorization: 'Bearer sk-novita' },
    });
    expect(novita.requests[0]?.headers['idempotency-key']).toBeUndefined();
    const video = {
      kind: 'video',
      model: 'hunyuan-video-fast',
      width: 1280,
      height: 720,
      steps: 30,
    } as const;
    const { status } = await attempt(hosted, engineRequest({ ...video, seed: BIG_SEED }));
    expect(novita.submitted).toEqual({
      model_name: 'hunyuan-video-fast',
      prompt: 'a lighthouse at dusk',
      width: 1280,
      height: 720,
      seed: Number(BIG_SEED),
      steps: 30,
    });
    expect(status.costNanoUsd).toBeUndefined();
    const long = { ...video, steps: undefined, seconds: 10 } as const;
    await attempt(hosted, engineRequest(long));
    expect(novita.submitted).toMatchObject({ duration: 10 });
    const upstream = engine(novitaKind, { base_url: novita.url, dialect: 'tollgate' });
    await attempt(upstream, engineRequest({ ...long, model: 'acme/film' }));
    const path = '/v3/async/video-fast';
    const sent = novita.requests.findLast((request) => request.method === 'POST');
    expect(sent).toMatchObject({ path, json: { model_name: 'acme/film', seconds: 10 } });
  });

  test('reads the cost from another Tollgate and cancels there', async () => {
    novita.tollgate = true;
    const upstream = engine(novitaKind, { base_url: novita.url, dialect: 'tollgate' });
    const request = engineRequest({ model: 'image-turbo' });
    expect((await attempt(upstream, request)).status.costNanoUsd).toBe(5_000_000n);
    expect(novita.requests[0]?.headers['idempotency-key']).toBe(request.taskId);
    novita.reset('never_finishes');
    const later = engineRequest({ model: 'image-turbo' });
    const reference = await upstream.submit(later, context());
    expect(await upstream.cancel(reference, later)).toBe('stopped');
    novita.fault = undefined;
    expect(await upstream.poll(reference, later, context())).toEqual({ state: 'canceled' });
    novita.tollgate = false;
  });

  test('never lets a model name lead to another path', async () => {
    const hosted = engine(novitaKind, { base_url: novita.url });
    await expect(attempt(hosted, engineRequest({ model: '../account' }))).rejects.toMatchObject({
      failure: { code: 'upstream_misconfigured' },
    });
    expect(novita.requests).toEqual([]);
  });
});

describe('http', () => {
  test('sends an order in the format of its entry, with the key it requires and the size as the service names it', async () => {
    const service = engine(httpKind, {
      ...REPLICATE,
      base_url: replicate.url,
      api_key: 'key',
      key_scheme: 'Key',
      idempotency_header: 'Idempotency-Key',
      sizes: { '500*300': { aspect: '5:3' } },
      submit: {
        path: '/v1/models/{model}/predictions',
        body: { input: { prompt: '{prompt}', ratio: '{size.aspect}', seed: '{seed}', steps: '{steps}' } },
      },
    });
    const request = engineRequest({ model: 'acme/tiny' });
    await attempt(service, request);
    const [{ path, headers, json }] = replicate.requests as [(typeof replicate.requests)[0]];
    expect(path).toBe('/v1/models/acme/tiny/predictions');
    expect([headers.authorization, headers['idempotency-key']]).toEqual(['Key key', request.taskId]);
    expect(json).toEqual({ input: { prompt: 'a lighthouse at dusk', ratio: '5:3', seed: 42 } });
    await expect(attempt(service, engineRequest({ model: 'acme/tiny', width: 400 }))).rejects.toMatchObject({
      failure: { code: 'upstream_misconfigured', said: 'engines.gpu.sizes has no entry for 400*300' },
    });
  });
});

describe('fal', () => {
  test('uses the URLs it returns', async () => {
    const hosted = engine(falKind, { base_url: fal.url, api_key: 'fal-key', extra: { sync_mode: false } });
    await attempt(hosted, engineRequest({ model: 'fal-ai/flux/dev', steps: 8, seed: BIG_SEED }));
    expect(fal.submitted).toEqual({
      sync_mode: false,
      prompt: 'a lighthouse at dusk',
      image_size: { width: 512, height: 304 },
      seed: 1_410_065_407,
      num_inference_steps: 8,
    });
    expect([...new Set(fal.requests.map((seen) => `${seen.method} ${seen.path}`))]).toEqual([
      'POST /fal-ai/flux/dev',
      'GET /queue/requests/run-1/status',
      'GET /queue/requests/run-1/response',
      'GET /files/output',
    ]);
    expect(fal.requests.every((seen) => seen.headers.authorization === 'Key fal-key')).toBe(true);
    await attempt(hosted, engineRequest({ model: 'fal-ai/wan', kind: 'video', seconds: 5 }));
    expect(fal.submitted).toMatchObject({ duration: 5 });
  });

  test('fails on an image its safety check has blacked out instead of selling it', async () => {
    const hosted = engine(falKind, { base_url: fal.url, api_key: 'fal-key' });
    fal.blacksOut = true;
    await expect(attempt(hosted, engineRequest({ model: 'fal-ai/flux/dev' }))).rejects.toMatchObject({
      failure: { code: 'content_refused', retryable: false },
    });
    fal.blacksOut = false;
    expect((await attempt(hosted, engineRequest({ model: 'fal-ai/flux/dev' }))).outputs).toHaveLength(1);
  });

  test('distinguishes each outcome of a cancel', async () => {
    const hosted = engine(falKind, { base_url: fal.url, api_key: 'fal-key' });
    const request = engineRequest({ model: 'fal-ai/flux/dev' });
    for (const [polls, answer] of [
      [0, 'stopped'],
      [2, 'requested'],
      [3, 'unsupported'],
    ] as const) {
      const reference = await hosted.submit(request, context());
      for (let poll = 0; poll < polls; poll += 1) {
        await hosted.poll(reference, request, context());
      }
      expect(await hosted.cancel(reference, request)).toBe(answer);
    }
  });
});
