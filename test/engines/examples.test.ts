import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { engineMistake } from '../../src/catalog/engine-kinds.ts';
import { interpolate, parseCatalog } from '../../src/catalog/parse-catalog.ts';
import { comfyUiKind } from '../../src/engines/comfyui/comfyui-engine.ts';
import { falKind } from '../../src/engines/fal/fal-engine.ts';
import { httpKind } from '../../src/engines/http/http-engine.ts';
import { novitaKind } from '../../src/engines/novita/novita-engine.ts';
import { openAiKind } from '../../src/engines/openai/openai-engine.ts';
import {
  buildEngines,
  type EngineKind,
  type EngineRegistry,
  type EngineSettings,
} from '../../src/engines/registry.ts';
import { sdCppKind } from '../../src/engines/sdcpp/sdcpp-engine.ts';
import { EXAMPLE_VARIABLES } from '../factories/example-variables.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const KINDS = new Map<string, EngineKind>([
  ['comfyui', comfyUiKind(ROOT)],
  ['sdcpp', sdCppKind],
  ['openai', openAiKind],
  ['novita', novitaKind],
  ['fal', falKind],
  ['http', httpKind],
]);
const VARIABLES = {
  OPENAI_API_KEY: 'a',
  NOVITA_API_KEY: 'b',
  UPSTREAM_API_KEY: 'c',
  FAL_KEY: 'd',
  REPLICATE_API_TOKEN: 'e',
};
const built: EngineRegistry[] = [];

afterAll(() => Promise.all(built.map((registry) => registry.close())));

/** Returns the pools of a text in the format of tollgate.yaml. */
function poolsOf(text: string): string[] {
  const { engines } = interpolate(parse(text), VARIABLES) as { engines: EngineSettings[] };
  const registry = buildEngines(
    engines.filter((entry) => entry.kind !== 'builtin'),
    KINDS,
    1,
  );
  built.push(registry);
  return registry.names;
}

test('loads every snippet of the guide as a valid configuration', () => {
  const guide = readFileSync(`${ROOT}docs/adding-an-engine.md`, 'utf8');
  const snippets = [...guide.matchAll(/```yaml\n([\s\S]*?)```/g)].map((match) => match[1] ?? '');
  expect(snippets.flatMap(poolsOf)).toEqual([
    'comfy',
    'comfy',
    'sdcpp',
    'omni',
    'sglang',
    'hosted',
    'novita',
    'upstream',
    'fal',
    'fal-video',
    'replicate',
  ]);
});

test('loads the examples of tollgate.yaml once they are uncommented', () => {
  const [, section = ''] =
    /\nengines:\n([\s\S]*?)\n\n/.exec(readFileSync(`${ROOT}tollgate.yaml`, 'utf8')) ?? [];
  const lines = section.split('\n').map((line) => line.replace(/^ {2}# (?=-| {2})/, '  '));
  const uncommented = lines.filter((line) => !/^ {2}#/.test(line)).join('\n');
  expect(poolsOf(`engines:\n${uncommented}`)).toEqual([
    'comfy',
    'sdcpp',
    'omni',
    'images',
    'novita',
    'upstream',
    'fal',
  ]);
});

test('loads each file in docs/examples/engines as a complete catalog', () => {
  const folder = `${ROOT}docs/examples/engines/`;
  for (const file of readdirSync(folder)) {
    const catalog = parseCatalog(readFileSync(`${folder}${file}`, 'utf8'), file, EXAMPLE_VARIABLES);
    const surroundings = { catalogFile: `${folder}${file}`, ffmpegPath: 'ffmpeg', ffprobePath: 'ffprobe' };
    expect([file, engineMistake(surroundings, catalog)]).toEqual([file, undefined]);
  }
});
