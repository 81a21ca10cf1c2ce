import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { comfyUiKind } from '../../src/engines/comfyui/comfyui-engine.ts';
import { falKind } from '../../src/engines/fal/fal-engine.ts';
import { httpKind } from '../../src/engines/http/http-engine.ts';
import { novitaKind } from '../../src/engines/novita/novita-engine.ts';
import { openAiKind } from '../../src/engines/openai/openai-engine.ts';
import { type EngineKind, EngineSettingsError } from '../../src/engines/registry.ts';
import { sdCppKind } from '../../src/engines/sdcpp/sdcpp-engine.ts';
import { REPLICATE } from '../factories/engine-replicate.ts';
import { temporaryFolder } from '../factories/temporary-folder.ts';

const comfyui = comfyUiKind(fileURLToPath(new URL('.', import.meta.url)));
const WORKFLOW = { kind: 'image', file: 'workflows/tiny.json', parameters: { prompt: '6.inputs.text' } };
const BASE = { base_url: 'http://gpu.internal:8000' };
const AWS = {
  kind: 'aws',
  region: 'us-east-1',
  service: 'bedrock',
  access_key_id: 'a',
  secret_access_key: 'b',
};

function messageOf(kind: EngineKind, settings: Record<string, unknown>): string {
  try {
    kind.create({ id: 'gpu', kind: 'some', ...settings });
  } catch (error) {
    expect(error).toBeInstanceOf(EngineSettingsError);
    return (error as Error).message;
  }
  throw new Error('these settings were accepted');
}

const KINDS: readonly [string, EngineKind, Record<string, unknown>][] = [
  ['openai', openAiKind, BASE],
  ['sdcpp', sdCppKind, BASE],
  ['comfyui', comfyui, { ...BASE, workflows: { tiny: WORKFLOW } }],
  ['novita', novitaKind, BASE],
  ['fal', falKind, { ...BASE, api_key: 'key' }],
  ['http', httpKind, { ...BASE, ...REPLICATE }],
];

describe.each(KINDS)('%s', (_name, kind, settings) => {
  test('accepts the smallest entry and slots of any form, and closes what it opened', async () => {
    const engine = kind.create({ id: 'gpu', kind: 'some', slots: 'auto', ...settings });
    expect(engine.id).toBe('gpu');
    expect(kind.slotsDefault).toBeGreaterThan(0);
    await engine.close();
  });

  test.each([
    [{ base_url: 'gpu:8000' }, 'engines.gpu.base_url: must be an http(s) URL'],
    [{ base_url: 'ftp://gpu' }, 'engines.gpu.base_url: must be an http(s) URL'],
    [{ bas_url: 'x' }, 'engines.gpu.bas_url: is not a setting of kind some'],
    [{ timeouts: { total: 1 } }, 'engines.gpu.timeouts.total: is not a setting of kind some'],
    [{ poll_interval_ms: 0 }, 'engines.gpu.poll_interval_ms: '],
    [{ headers: { 'bad header': 'x' } }, 'engines.gpu.headers'],
    [{ size_multiple: 0 }, 'engines.gpu.size_multiple: '],
  ])('says in one line what is wrong: %j', (changes, expected) => {
    const message = messageOf(kind, { ...settings, ...changes });
    expect(message).toContain(expected);
    expect(message).not.toContain('\n');
  });
});

test('treats a hosted service as billed, and a server of one’s own only if the entry says so', () => {
  const create = (kind: EngineKind, settings: Record<string, unknown>) =>
    kind.create({ id: 'gpu', kind: 'some', ...settings }).capabilities;
  expect(create(novitaKind, {})).toMatchObject({ paid: true, cancelRunning: false, sizeMultiple: 1 });
  expect(create(novitaKind, { dialect: 'tollgate' })).toMatchObject({ paid: true, cancelRunning: true });
  expect(create(falKind, { api_key: 'k' })).toMatchObject({ paid: true, cancelQueued: true });
  expect(create(openAiKind, BASE)).toMatchObject({ paid: false, cancelRunning: true });
  expect(create(openAiKind, { ...BASE, cancel_method: 'none' })).toMatchObject({ cancelRunning: false });
  expect(create(openAiKind, { ...BASE, kinds: ['image'], paid: true })).toMatchObject({
    kinds: ['image'],
    paid: true,
    cancelRunning: false,
  });
  expect(create(sdCppKind, BASE)).toMatchObject({ paid: false, cancelQueued: true, cancelRunning: false });
  expect(create(comfyui, { ...BASE, workflows: { tiny: WORKFLOW } })).toMatchObject({
    kinds: ['image'],
    paid: false,
    cancelRunning: true,
  });
});

test.each([
  [
    { submit: { path: '/run', body: { a: '{promt}' } } },
    'engines.gpu.submit.body: {promt} is not one of {prompt}',
  ],
  [{ submit: { path: '/run', body: { a: '{size.aspect}' } } }, 'engines.gpu.sizes: is required for {size.…}'],
  [{ poll: { path: '/run/{id}', states: {} } }, 'engines.gpu.poll.path: contains an unknown placeholder'],
  [{ content_refused: '(' }, 'engines.gpu.content_refused: is not a regular expression'],
  [{ output: 'a b' }, 'engines.gpu.output: must be a path like output.0.url'],
  [{ signature: { kind: 'basic' } }, 'engines.gpu.signature.kind: '],
  [{ signature: { kind: 'jwt', issuer: 'a' } }, 'engines.gpu.signature.secret: is the key for HS256'],
  [
    { signature: { kind: 'jwt', algorithm: 'RS256', issuer: 'a' } },
    'engines.gpu.signature.private_key: is the key for RS256',
  ],
  [
    { signature: { kind: 'jwt', algorithm: 'RS256', issuer: 'a', private_key: 'MII…' } },
    'engines.gpu.signature.private_key: must be a private RSA key of at least 2048 bits, in PEM',
  ],
  [
    { signature: { kind: 'oauth', token_url: 'idp', client_id: 'a', client_secret: 'b' } },
    'engines.gpu.signature.token_url: must be an http(s) URL',
  ],
  [
    { signature: { ...AWS, region: 'US East' } },
    'engines.gpu.signature.region: must be a region like us-east-1',
  ],
  [
    { signature: { ...AWS, acces_key: 'x' } },
    'engines.gpu.signature.acces_key: is not a setting of kind some',
  ],
  [
    { signature: AWS, api_key: 'x' },
    'engines.gpu.api_key: conflicts with signature, which sets Authorization; set only one of them',
  ],
  [
    { signature: AWS, headers: { Authorization: 'x' } },
    'engines.gpu.headers.authorization: conflicts with signature, which sets it; set only one of them',
  ],
  [
    { signature: AWS, submit: { path: '/run', body: {}, encoding: 'multipart' } },
    'engines.gpu.submit.encoding: must be json: the signature covers the body',
  ],
])('reports the mistake in an http engine: %j', (changes, message) => {
  expect(messageOf(httpKind, { ...BASE, ...REPLICATE, ...changes })).toContain(message);
});

test('rejects fal without a key', () => {
  expect(messageOf(falKind, { ...BASE, api_key: '' })).toBe('engines.gpu.api_key: must not be empty');
});

describe('workflows', () => {
  const folder = temporaryFolder('workflows');
  writeFileSync(join(folder, 'broken.json'), '{"3": ');
  writeFileSync(join(folder, 'canvas.json'), '{"nodes": [], "links": []}');

  test.each([
    [{ ...WORKFLOW, file: 'nowhere.json' }, /workflows\.tiny\.file: .*nowhere\.json cannot be read as JSON$/],
    [{ ...WORKFLOW, file: join(folder, 'broken.json') }, /broken\.json cannot be read as JSON$/],
    [{ ...WORKFLOW, file: join(folder, 'canvas.json') }, /is not a workflow in API format/],
    [
      { ...WORKFLOW, parameters: { prompt: '7.inputs.text' } },
      /parameters\.prompt: the workflow has no 7\.inputs\.text$/,
    ],
    [
      { ...WORKFLOW, parameters: { prompt: '6.inputs.txt' } },
      /parameters\.prompt: the workflow has no 6\.inputs\.txt$/,
    ],
    [{ ...WORKFLOW, parameters: { prompt: '6.__proto__.text' } }, /parameters\.prompt: must be like/],
    [{ ...WORKFLOW, parameters: { seed: '3.inputs.seed' } }, /parameters\.prompt: /],
    [{ ...WORKFLOW, output_node: '99' }, /output_node: the workflow has no node 99$/],
  ])('rejects unusable ones at start: %#', (workflow, expected) => {
    expect(messageOf(comfyui, { ...BASE, workflows: { tiny: workflow } })).toMatch(expected);
  });

  test('requires at least one', () => {
    expect(messageOf(comfyui, { ...BASE, workflows: {} })).toBe('engines.gpu.workflows: must not be empty');
  });
});
