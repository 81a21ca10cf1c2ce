import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import sharp from 'sharp';
import { parse } from 'yaml';
import { markdownTable } from '../../ops/reference/schema-table.ts';
import type { CheckStep } from '../../src/operators/checks/check-step.ts';
import { ComfyUiServer } from '../factories/engine-comfyui.ts';
import { FalServer } from '../factories/engine-fal.ts';
import { NovitaServer } from '../factories/engine-novita.ts';
import { OpenAiImageServer } from '../factories/engine-openai.ts';
import {
  BlackForestLabsServer,
  LumaServer,
  MiniMaxServer,
  RunwayServer,
  VeoServer,
} from '../factories/engine-polled-services.ts';
import { ReplicateServer } from '../factories/engine-replicate.ts';
import { SdServer } from '../factories/engine-sdcpp.ts';
import type { EngineServer } from '../factories/engine-server.ts';
import {
  BedrockServer,
  FireflyServer,
  KlingServer,
  VertexServer,
} from '../factories/engine-signed-services.ts';
import { Automatic1111Server, StabilityServer } from '../factories/engine-synchronous-services.ts';
import { serviceEntry } from '../factories/service-entries.ts';
import { temporaryFolder } from '../factories/temporary-folder.ts';
import { cliRun } from './support/cli-run.ts';

/**
 * Runs `tollgate engines check` against the contract server of every engine kind and every example entry, and compares the table of
 * docs/checking.md with the results. `WRITE_CHECKS=1` updates the table.
 */

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PAGE = join(ROOT, 'docs/checking.md');
const EXAMPLES = join(ROOT, 'docs/examples/engines');
/** The first bytes of a video file, by which its type is detected. */
const VIDEO = Buffer.from('00000018667479706d703432000000006d70343269736f6d', 'hex');
const STEPS = ['away', 'ready', 'installation', 'submit', 'progress', 'result', 'cancel', 'wrong request'];

interface Row {
  readonly name: string;
  readonly kind: string;
  readonly server: EngineServer | undefined;
  readonly makes: 'image' | 'video';
  /** Creates its entry with the server's address and its models, or names an entry of docs/examples/engines. */
  readonly entry: string | ((url: string) => Record<string, unknown>);
}

const PLACES = {
  prompt: '6.inputs.text',
  seed: '3.inputs.seed',
  width: '5.inputs.width',
  height: '5.inputs.height',
};
const WORKFLOWS = { tiny: { kind: 'image', file: 'workflows/tiny.json', parameters: PLACES } };

const sd = Object.assign(new SdServer(), { makesNoVideos: true });
const ROWS: readonly Row[] = [
  { name: 'the built-in engine', kind: 'builtin', server: undefined, makes: 'image', entry: () => ({}) },
  row('ComfyUI', 'comfyui', new ComfyUiServer(), 'image', (base_url) => ({ base_url, workflows: WORKFLOWS })),
  row('sd-server', 'sdcpp', sd, 'image', (base_url) => ({ base_url })),
  row('OpenAI images', 'openai', new OpenAiImageServer(), 'image', (url) => ({ base_url: `${url}/v1` })),
  row('OpenAI videos', 'openai', new OpenAiImageServer(), 'video', (url) => ({ base_url: `${url}/v1` })),
  row('Novita', 'novita', new NovitaServer(), 'image', (base_url) => ({ base_url, api_key: 'sk-novita' })),
  row('fal', 'fal', new FalServer(), 'image', (base_url) => ({ base_url, api_key: 'sk-fal' })),
  row('Replicate', 'http', new ReplicateServer(), 'image', 'replicate'),
  row('Black Forest Labs', 'http', new BlackForestLabsServer(), 'image', 'black-forest-labs'),
  row('Stability AI', 'http', new StabilityServer(), 'image', 'stability'),
  row('Runway', 'http', new RunwayServer(), 'video', 'runway'),
  row('Luma', 'http', new LumaServer(), 'video', 'luma'),
  row('MiniMax', 'http', new MiniMaxServer(), 'video', 'minimax'),
  row('Gemini (Veo)', 'http', new VeoServer(), 'video', 'gemini-veo'),
  row('Kling', 'http', new KlingServer(), 'video', 'kling'),
  row('Veo on Vertex AI', 'http', new VertexServer(), 'video', 'vertex-veo'),
  row('Adobe Firefly', 'http', new FireflyServer(), 'image', 'firefly'),
  row('Amazon Bedrock', 'http', new BedrockServer(), 'image', 'bedrock-nova-canvas'),
  row('AUTOMATIC1111', 'http', new Automatic1111Server(), 'image', 'automatic1111'),
];

function row(
  name: string,
  kind: string,
  server: EngineServer,
  makes: Row['makes'],
  entry: Row['entry'],
): Row {
  return { name, kind, server, makes, entry };
}

let folder: string;

beforeAll(async () => {
  folder = temporaryFolder('check-tables');
  mkdirSync(join(folder, 'workflows'));
  copyFileSync(join(ROOT, 'test/engines/workflows/tiny.json'), join(folder, 'workflows/tiny.json'));
  // as large as the largest order
  const picture = sharp({ create: { width: 2_304, height: 2_048, channels: 3, background: '#357' } });
  const image = await picture.png().toBuffer();
  for (const { server, makes } of ROWS) {
    await server?.start();
    if (server) {
      server.media = makes === 'video' ? VIDEO : image;
    }
  }
});

afterAll(() => Promise.all(ROWS.map(({ server }) => server?.close())));

/** Returns a catalog with the entry and a model routed to it. JSON is valid YAML. */
function catalogOf({ kind, server, makes, entry }: Row): string {
  const url = server?.url ?? '';
  if (typeof entry === 'string') {
    const { models } = parse(readFileSync(join(EXAMPLES, `${entry}.yaml`), 'utf8')) as { models: unknown[] };
    const service = { ...serviceEntry(entry, url), id: 'engine', poll_interval_ms: 10 };
    const routed = models.map((model) => ({ ...(model as object), routes: routesOf(model) }));
    return JSON.stringify({ engines: [service], models: routed });
  }
  const fast = kind === 'builtin' ? {} : { poll_interval_ms: 10 };
  const model = { comfyui: 'tiny', fal: 'fal-ai/tiny' }[kind] ?? 'm';
  const media = makes === 'image' ? { media: { sizes: ['128*128'] } } : {};
  return JSON.stringify({
    engines: [{ id: 'engine', kind, ...fast, ...entry(url) }],
    models: [{ id: 'acme/model', endpoints: [makes], ...media, routes: [{ engine: 'engine', model }] }],
  });
}

function routesOf(model: unknown): unknown[] {
  const { routes } = model as { routes: readonly { model?: string }[] };
  return routes.map((route) => ({ ...route, engine: 'engine' }));
}

async function check(row: Row): Promise<readonly CheckStep[]> {
  const catalog = join(folder, `${row.name}.yaml`);
  writeFileSync(catalog, catalogOf(row));
  const args = ['engines', 'check', 'engine', '--pay', '--json', '--catalog', catalog];
  const { stdout, stderr } = await cliRun({}, args);
  expect(stderr).toBe('');
  return (JSON.parse(stdout) as { steps: CheckStep[] }).steps;
}

test('every engine kind and every example entry passes, and docs/checking.md shows the results', async () => {
  const lines: string[][] = [];
  for (const row of ROWS) {
    const steps = await check(row);
    expect([row.name, steps.filter(({ outcome }) => outcome === 'failed')]).toEqual([row.name, []]);
    const cells = STEPS.map((step) => (outcomeOf(steps, step) === 'ok' ? 'ok' : '–'));
    const skipped = steps.filter(({ outcome }) => outcome === 'skipped');
    const reasons = skipped.map(({ step, found }) => `${step}: ${found}`).join('; ');
    lines.push([row.name, `\`${row.kind}\``, ...cells, reasons]);
  }
  const table = markdownTable(['', 'kind', ...STEPS, 'skipped, because'], lines);
  const page = readFileSync(PAGE, 'utf8');
  const [before, after] = cutAtTable(page);
  if (process.env.WRITE_CHECKS) {
    writeFileSync(PAGE, `${before}${table}\n${after}`);
  }
  const shown = readFileSync(PAGE, 'utf8');
  expect(shown.slice(before.length, shown.length - after.length)).toBe(`${table}\n`);
});

test('no example entry is missing', () => {
  const named = ROWS.flatMap(({ entry }) => (typeof entry === 'string' ? [`${entry}.yaml`] : []));
  expect(named.sort()).toEqual(readdirSync(EXAMPLES).sort());
});

function outcomeOf(steps: readonly CheckStep[], name: string): CheckStep['outcome'] | undefined {
  return steps.find(({ step }) => step === name)?.outcome;
}

/** Returns the text before and after the table. */
function cutAtTable(page: string): [before: string, after: string] {
  const [before = '', rest = ''] = page.split(
    /(?<=^### Engines against contract servers\n\n(?:[^|\n].*\n)*\n)/m,
  );
  const after = rest.replace(/^(?:\|.*\n)*/, '');
  return [before, after];
}
