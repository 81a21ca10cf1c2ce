import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { CheckStep } from '../../src/operators/checks/check-step.ts';
import { ComfyUiServer } from '../factories/engine-comfyui.ts';
import { FalServer } from '../factories/engine-fal.ts';
import { NovitaServer } from '../factories/engine-novita.ts';
import { OpenAiImageServer } from '../factories/engine-openai.ts';
import { REPLICATE, ReplicateServer } from '../factories/engine-replicate.ts';
import { SdServer } from '../factories/engine-sdcpp.ts';
import { temporaryFolder } from '../factories/temporary-folder.ts';
import { startAnthropicUpstream } from '../factories/upstream-anthropic.ts';
import { startOpenAiUpstream } from '../factories/upstream-openai.ts';
import type { UpstreamServer } from '../factories/upstream-server.ts';
import { cliRun } from './support/cli-run.ts';

const TINY = fileURLToPath(new URL('../engines/workflows/tiny.json', import.meta.url));
const comfy = new ComfyUiServer();
const sd = Object.assign(new SdServer(), { makesNoVideos: true });
const openai = new OpenAiImageServer();
const novita = new NovitaServer();
const fal = new FalServer();
const replicate = new ReplicateServer();
const servers = [comfy, sd, openai, novita, fal, replicate];
let chat: UpstreamServer;
let messages: UpstreamServer;
let catalog: string;

beforeAll(async () => {
  [chat, messages] = await Promise.all([startOpenAiUpstream(), startAnthropicUpstream()]);
  await Promise.all(servers.map((server) => server.start()));
  const folder = temporaryFolder('checks');
  mkdirSync(join(folder, 'workflows'));
  copyFileSync(TINY, join(folder, 'workflows/tiny.json'));
  catalog = join(folder, 'tollgate.yaml');
  writeFileSync(catalog, catalogText());
});

afterAll(() => Promise.all([...servers, chat, messages].map((server) => server?.close())));

function catalogText(): string {
  const image = (id: string, engine: string, model: string) =>
    `  - { id: ${id}, endpoints: [image], media: { sizes: ['64*64'] }, routes: [{ engine: ${engine}, model: ${model} }] }\n`;
  const text = (id: string, provider: string) =>
    `  - { id: ${id}, endpoints: [chat], context_length: 4000, max_output_tokens: 1000, routes: [{ provider: ${provider}, model: m }] }\n`;
  const upstream = (id: string, kind: string, url: string, more = '') =>
    `  - { id: ${id}, kind: ${kind}, base_url: "${url}", poll_interval_ms: 10${more} }\n`;
  const places =
    '{ prompt: 6.inputs.text, seed: 3.inputs.seed, width: 5.inputs.width, height: 5.inputs.height }';
  const workflow = `, workflows: { tiny: { kind: image, file: workflows/tiny.json, parameters: ${places} } }`;
  return `
providers:
  - { id: chat, protocol: openai, base_url: "${chat.url}", api_key: sk-chat }
  - { id: messages, protocol: anthropic, base_url: "${messages.url}", api_key: sk-messages }
  - { id: self, protocol: builtin, token_delay_ms: 1 }
  - { id: gone, protocol: openai, base_url: "http://127.0.0.1:9/v1" }
engines:
${upstream('comfy', 'comfyui', comfy.url, workflow)}${upstream('sd', 'sdcpp', sd.url)}\
${upstream('oai', 'openai', `${openai.url}/v1`)}${upstream('novita', 'novita', novita.url, ', api_key: sk-novita')}\
${upstream('fal', 'fal', fal.url, ', api_key: sk-fal')}  - { id: drawn, kind: builtin }
  - ${JSON.stringify({ id: 'service', kind: 'http', base_url: replicate.url, poll_interval_ms: 10, ...REPLICATE })}
  - { id: own, kind: sdcpp, poll_interval_ms: 10, process: { command: [sd-server], health: / } }
models:
${image('i-comfy', 'comfy', 'tiny')}${image('i-sd', 'sd', 'm')}${image('i-oai', 'oai', 'm')}\
  - { id: v-oai, endpoints: [video], routes: [{ engine: oai, model: m }] }
${image('i-novita', 'novita', 'm')}${image('i-fal', 'fal', 'fal-ai/tiny')}${image('i-service', 'service', 'acme/tiny')}\
  - { id: i-drawn, endpoints: [image], media: { sizes: ['128*128'] }, routes: [{ engine: drawn }] }
${image('i-own', 'own', 'm')}${image('i-large', 'sd', 'm').replace('64*64', '512*512')}${text('t-chat', 'chat')}${text('t-messages', 'messages')}${text('t-self', 'self')}${text('t-gone', 'gone')}`;
}

const run = (...args: readonly string[]) => cliRun({}, [...args, '--catalog', catalog]);

async function check(...args: readonly string[]) {
  const { code, stdout, stderr } = await run(...args, '--json');
  expect(stderr).toBe('');
  const report = JSON.parse(stdout) as { ok: boolean; model: string; steps: CheckStep[] };
  expect(report.ok).toBe(code === 0);
  const outcomes = Object.fromEntries(report.steps.map(({ step, outcome }) => [step, outcome]));
  const found = Object.fromEntries(report.steps.map((step) => [step.step, step.found]));
  return { code, report, outcomes, found };
}

const ALL = {
  away: 'ok',
  ready: 'ok',
  installation: 'skipped',
  submit: 'ok',
  progress: 'ok',
  result: 'ok',
  cancel: 'ok',
  'wrong request': 'ok',
};

describe('tollgate engines check', () => {
  test.each([
    ['comfy', 'i-comfy', 'upstream_misconfigured'],
    ['sd', 'i-sd', 'upstream_misconfigured'],
    ['oai', 'i-oai', 'upstream_misconfigured'],
    ['oai', 'v-oai', 'upstream_misconfigured'],
    ['novita', 'i-novita', 'upstream_misconfigured'],
    ['fal', 'i-fal', 'upstream_misconfigured'],
    ['service', 'i-service', 'upstream_misconfigured'],
  ])('%s with %s fulfills the contract', async (engine, model, refusal) => {
    const video = model.startsWith('v-');
    openai.media = video ? Buffer.from('00000018667479706d703432000000006d70343269736f6d', 'hex') : sd.media;
    const { code, report, outcomes, found } = await check(
      'engines',
      'check',
      engine,
      '--model',
      model,
      '--pay',
    );
    expect(report.steps.filter(({ outcome }) => outcome === 'failed')).toEqual([]);
    const stops = engine !== 'novita';
    const installation = ['comfy', 'sd'].includes(engine) ? 'ok' : 'skipped';
    expect({ code, outcomes }).toEqual({
      code: 0,
      outcomes: { ...ALL, installation, cancel: stops ? 'ok' : 'skipped' },
    });
    expect(found.away).toContain('upstream_unreachable');
    expect(found.result).toMatch(video ? /^1 file, mov, \d+ bytes$/ : /^1 file, png, \d+ bytes, 64×64$/);
    expect(found['wrong request']).toContain(refusal);
  });

  test('the built-in engine fulfills it, too', async () => {
    const { code, outcomes } = await check('engines', 'check', 'drawn');
    expect(code).toBe(0);
    expect(outcomes).toMatchObject({
      ready: 'ok',
      submit: 'ok',
      progress: 'ok',
      result: 'ok',
      away: 'skipped',
    });
  });

  test('starts no run that costs money unless asked to', async () => {
    fal.reset();
    const { code, outcomes } = await check('engines', 'check', 'fal');
    expect(code).toBe(0);
    expect(outcomes).toMatchObject({
      ready: 'ok',
      submit: 'skipped',
      cancel: 'skipped',
      'wrong request': 'skipped',
    });
    expect(fal.accepted).toBe(0);
  });

  test('shows the error of a failing engine without its keys and exits with 1', async () => {
    comfy.reset('fails');
    const { code, stdout } = await run('engines', 'check', 'comfy');
    comfy.reset();
    expect(code).toBe(1);
    expect(stdout).toMatch(/^comfy with i-comfy: some tests failed$/m);
    expect(stdout).toMatch(/^progress +failed +\d+\.\d\d s +.*out_of_memory/m);
    expect(stdout).toMatch(/^result +skipped/m);
    expect(stdout).toMatch(/^progress, the upstream said: .*\[key\]/m);
  });

  test('reports a workflow with missing nodes before any run of it fails', async () => {
    const { nodes } = comfy;
    comfy.nodes = { ...nodes, KSampler: undefined };
    const { code, found } = await check('engines', 'check', 'comfy');
    comfy.nodes = nodes;
    expect([code, found.installation]).toEqual([1, 'workflows.tiny, node 3: the server has no KSampler']);
  });

  test('each check uses its own seed, because a result that the server already has cannot be stopped', async () => {
    comfy.reset();
    comfy.doneAtOnce = 'known';
    const first = await check('engines', 'check', 'comfy');
    const second = await check('engines', 'check', 'comfy');
    comfy.doneAtOnce = 'none';
    expect([first.found.cancel, second.found.cancel]).toEqual(Array(2).fill('stopped; afterwards canceled'));
  });

  test('skips the cancel step when the run finished before it could be stopped', async () => {
    comfy.doneAtOnce = 'all';
    const { outcomes, found } = await check('engines', 'check', 'comfy');
    comfy.doneAtOnce = 'none';
    expect(outcomes).toEqual({ ...ALL, installation: 'ok', cancel: 'skipped' });
    expect(found.cancel).toContain('try a model that takes longer');
  });

  test('checks an engine of a worker at the given address', async () => {
    sd.reset();
    const { outcomes, found } = await check('engines', 'check', 'own', '--base-url', sd.url);
    expect(outcomes).toEqual({ ...ALL, installation: 'ok' });
    expect(found.submit).toMatch(/^accepted as run-/);
  });

  test('rejects a result that is not an image or is smaller than ordered', async () => {
    sd.reset();
    const small = await check('engines', 'check', 'sd', '--model', 'i-large');
    expect([small.code, small.found.result]).toEqual([
      1,
      expect.stringContaining('64×64, smaller than requested'),
    ]);
    sd.media = Buffer.from('<html><body>Link expired</body></html>');
    const broken = await check('engines', 'check', 'sd');
    sd.media = comfy.media;
    expect([broken.code, broken.outcomes.result]).toEqual([1, 'failed']);
  });

  test.each([
    [['nosuch'], /has no engine nosuch; it contains comfy, sd, oai, novita, fal, drawn, service, own/],
    [['own'], /engines.own is started by its worker: add --base-url/],
    [['sd', '--model', 'i-oai'], /no model i-oai is routed to sd; routed there: i-sd, i-large/],
    [['sd', '--timeout', 'long'], /--timeout must be a number of seconds, not long/],
  ])('rejects %j as wrong usage', async (args, message) => {
    const { code, stderr } = await run('engines', 'check', ...args);
    expect([code, stderr]).toEqual([2, expect.stringMatching(message)]);
  });
});

describe('tollgate providers check', () => {
  const overflowing = {
    fault: 'too_long' as const,
    faultOf: ({ body }: { body: unknown }) => JSON.stringify(body).length > 10_000,
    tokenDelayMs: 5,
  };
  const TEXT = {
    ready: 'ok',
    json: 'ok',
    stream: 'ok',
    tools: 'ok',
    usage: 'ok',
    abort: 'ok',
    overflow: 'ok',
  };

  test.each(['chat', 'messages'])('%s fulfills the contract', async (provider) => {
    (provider === 'chat' ? chat : messages).reset(overflowing);
    const { code, report, outcomes, found } = await check('providers', 'check', provider);
    expect(report.steps.filter(({ outcome }) => outcome === 'failed')).toEqual([]);
    expect({ code, outcomes }).toEqual({ code: 0, outcomes: TEXT });
    expect(found.abort).toMatch(/^closed after the first chunk, ended within \d+ ms$/);
    expect(found.usage).toMatch(/^json \d+ in, \d+ out; stream \d+ in, \d+ out$/);
  });

  test('reports a server that returns no usage and accepts prompts of any length', async () => {
    chat.reset({ fault: 'no_usage', tokenDelayMs: 5 });
    const { code, outcomes, found } = await check('providers', 'check', 'chat');
    expect(code).toBe(1);
    expect(outcomes).toEqual({ ...TEXT, usage: 'failed', overflow: 'failed' });
    expect(found.usage).toBe('not reported: json, stream; calls are charged by our own count');
    expect(found.overflow).toMatch(/^it accepted \d+ tokens: more than context_length \(4000\)/);
  });

  test('an unreachable provider fails, and one that rejects the key is reported as such', async () => {
    const gone = await check('providers', 'check', 'gone');
    expect([gone.code, gone.found.ready]).toEqual([1, 'unreachable']);
    messages.reset({ fault: 'unauthorized' });
    const refused = await check('providers', 'check', 'messages');
    expect(refused.found.json).toBe('misconfigured (401)');
    expect((await check('providers', 'check', 'self')).outcomes).toMatchObject({
      json: 'ok',
      tools: 'ok',
      abort: 'ok',
      overflow: 'skipped',
    });
  });
});
