import { expect, test } from '@jest/globals';
import { engineMistake, gpuMistake, gpuSharesOf } from './engine-kinds.ts';
import { parseCatalog } from './parse-catalog.ts';

const SURROUNDINGS = { catalogFile: 'tollgate.yaml', ffmpegPath: 'ffmpeg', ffprobePath: 'ffprobe' };
const WORKFLOW = 'file: docs/examples/comfyui-z-image-turbo.json, parameters: { prompt: 6.inputs.text }';

function mistakeOf(engine: string, model = 'z', kind = 'image'): string | undefined {
  const text = `{ models: [{ id: m, endpoints: [${kind}], routes: [{ engine: e, model: "${model}" }] }], engines: [{ id: e, ${engine} }] }`;
  return engineMistake(SURROUNDINGS, parseCatalog(text, 'tollgate.yaml', {}));
}

test.each([
  ['an unknown kind', 'kind: nosuch', 'engines[0].kind: nosuch is not one of builtin, comfyui, '],
  [
    'an unknown setting',
    'kind: sdcpp, base_url: "http://a", speed: 1',
    'engines.e.speed: is not a setting of kind sdcpp',
  ],
  ['slots', 'kind: builtin, slots: 0', 'engines[0].slots: '],
  [
    'a place the workflow lacks',
    `kind: comfyui, base_url: "http://a", workflows: { z: { kind: image, ${WORKFLOW.replace('text', 'txt')} } }`,
    'the workflow has no 6.inputs.txt',
  ],
  ['a process', 'kind: sdcpp, process: { nothing: 1 }', 'engines.e.process'],
])('rejected before it takes effect: %s', (_, engine, message) => {
  expect(mistakeOf(engine)).toContain(message);
  expect(mistakeOf(engine)).not.toContain('\n');
});

const COMFY = `kind: comfyui, base_url: "http://a", workflows: { z: { kind: image, ${WORKFLOW} } }`;

test.each([
  [COMFY, 'z', 'image', undefined],
  [COMFY, 'other', 'image', 'models.m.routes[0].model: engines.e.workflows has no other'],
  [COMFY, 'z', 'video', 'models.m.routes[0].engine: e does not make videos'],
  [
    'kind: fal, api_key: k, kinds: [image]',
    'fal-ai/flux',
    'video',
    'models.m.routes[0].engine: e does not make videos',
  ],
  ['kind: novita', '../account', 'image', 'models.m.routes[0].model: "../account" must be a path'],
])('a route to %s with %s for %s', (engine, model, kind, message) => {
  const mistake = mistakeOf(engine, model, kind);
  expect(mistake?.slice(0, message?.length)).toBe(message);
});

const HTTP =
  'kind: http, base_url: "https://a", submit: { path: /run, body: {} }, sizes: { 1024*1024: {}, 1280*720: {} }';
const OPENAI = 'kind: openai, base_url: "http://a", sizes: [1024x1024, 1536x1024]';

test.each([
  [OPENAI, 'sizes: [512*512, 1500*1000]', undefined],
  [OPENAI, 'sizes: [1024*1024, 1024*1536]', 'engines.e.sizes has none as large as 1024x1536'],
  [OPENAI, 'sides: { min: 64, max: 1024 }, default_size: 512*512', undefined],
  [
    OPENAI,
    'sides: { min: 64, max: 1025 }, default_size: 512*512',
    'engines.e.sizes has none as large as 1025x1025',
  ],
  [OPENAI, undefined, undefined],
  [HTTP, 'sizes: [1280*720]', undefined],
  [HTTP, 'sizes: [1280*720, 720*1280]', 'engines.e.sizes has no entry for 720*1280'],
  [HTTP, 'sides: { min: 64, max: 1024 }, default_size: 512*512', 'engines.e.sizes has no entry for 1024*64'],
])('an engine with %s for a model with %s', (engine, media, message) => {
  const offer = media === undefined ? '' : `, media: { ${media} }`;
  const text = `{ models: [{ id: m, endpoints: [image], routes: [{ engine: e, model: z }]${offer} }], engines: [{ id: e, ${engine} }] }`;
  expect(engineMistake(SURROUNDINGS, parseCatalog(text, 'tollgate.yaml', {}))).toBe(
    message && `models.m.routes[0].engine: ${message}`,
  );
});

const CARD = { index: 0, name: 'NVIDIA L4', memoryMiB: 24_000 };

test('counts the GPU memory of engines served here; ComfyUI frees it, other servers keep it', () => {
  const catalog = parseCatalog(
    `
engines:
  - { id: shared, ${COMFY}, gpu_memory: { mib: 14000 } }
  - { id: own, kind: sdcpp, gpu_memory: { mib: 9000 }, process: { command: [sd-server], health: / } }
  - { id: elsewhere, ${COMFY}, gpu_memory: { mib: 80000 } }`,
    'tollgate.yaml',
    {},
  );
  const serves = (pool: string) => pool !== 'elsewhere';
  expect(gpuSharesOf(SURROUNDINGS, catalog, [CARD], serves)).toEqual([
    { pool: 'shared', gpu: 0, mib: 14_000, keeps: false },
    { pool: 'own', gpu: 0, mib: 9_000, keeps: true },
  ]);
  expect(gpuMistake(SURROUNDINGS, catalog, [CARD], () => true)).toBe(
    'engines.elsewhere.gpu_memory: 80000 MiB beside own (9000) do not fit on GPU 0, which has 24000',
  );
});
