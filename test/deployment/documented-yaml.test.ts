import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { parse, stringify } from 'yaml';
import { engineMistake } from '../../src/catalog/engine-kinds.ts';
import { parseCatalog } from '../../src/catalog/parse-catalog.ts';
import { ROOT } from './compose-file.ts';

/** The catalog schema accepts every YAML block in the docs and every entry that tollgate.yaml shows in a comment. */

type Entry = { readonly id: string; readonly routes?: readonly Record<string, string>[] };
type Part = Record<string, unknown> & {
  readonly providers?: readonly Entry[];
  readonly models?: readonly Entry[];
  readonly engines?: readonly Entry[];
};

const LISTS = ['providers', 'models', 'engines'] as const;
const CATALOG_KEYS = [...LISTS, 'limits', 'aliases', 'seller'];
const SHIPPED = parse(readFileSync(join(ROOT, 'tollgate.yaml'), 'utf8')) as Part;
const SURROUNDINGS = {
  catalogFile: join(ROOT, 'tollgate.yaml'),
  ffmpegPath: 'ffmpeg',
  ffprobePath: 'ffprobe',
};
/** Environment in which every variable that a block refers to is set. */
const VARIABLES = new Proxy(
  {},
  { get: (_, name) => (String(name).endsWith('_FILE') ? undefined : 'a-value') },
);

const pages = [
  'README.md',
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name)),
];

function blocksOf(page: string): string[] {
  return [...readFileSync(join(ROOT, page), 'utf8').matchAll(/^```ya?ml\n([\s\S]*?)^```$/gm)].map(
    ([, block = '']) => block,
  );
}

/** Returns the shipped catalog merged with a part, with stand-ins for the providers and engines that its models name. */
function completed(part: Part): string {
  const lists = Object.fromEntries(
    LISTS.map((name) => {
      const own = part[name] ?? [];
      const ids = new Set(own.map(({ id }) => id));
      return [name, [...own, ...(SHIPPED[name] ?? []).filter(({ id }) => !ids.has(id))]];
    }),
  ) as Record<(typeof LISTS)[number], Entry[]>;
  for (const route of (part.models ?? []).flatMap(({ routes = [] }) => routes)) {
    if (route.provider && !lists.providers.some(({ id }) => id === route.provider)) {
      lists.providers.push({ id: route.provider, protocol: 'builtin' } as Entry);
    }
    if (route.engine && !lists.engines.some(({ id }) => id === route.engine)) {
      lists.engines.push({ id: route.engine, kind: 'builtin' } as Entry);
    }
  }
  return stringify({ ...SHIPPED, ...part, ...lists });
}

function mistakeOf(part: Part): string | undefined {
  try {
    return engineMistake(SURROUNDINGS, parseCatalog(completed(part), 'block', VARIABLES));
  } catch (error) {
    return (error as Error).message;
  }
}

const isOfCatalog = (part: Part) => Object.keys(part).some((key) => CATALOG_KEYS.includes(key));

test.each(pages.map((page) => relative('.', page)))('the catalog accepts every block of %s', (page) => {
  for (const block of blocksOf(page)) {
    const part = parse(block) as Part;
    const mistake = isOfCatalog(part) ? mistakeOf(part) : undefined;
    expect({ block, mistake }).toEqual({ block, mistake: undefined });
  }
});

test('the catalog accepts every entry that tollgate.yaml shows in a comment', () => {
  const text = readFileSync(join(ROOT, 'tollgate.yaml'), 'utf8');
  const entries = [...text.matchAll(/^ *# - .*(?:\n *# {3,}\S.*)*/gm)].flatMap(
    ([lines]) => parse(lines.replaceAll(/^ *# /gm, '')) as Record<string, unknown>[],
  );
  expect(entries.length).toBeGreaterThan(8);
  for (const entry of entries) {
    const list = 'protocol' in entry ? 'providers' : 'kind' in entry ? 'engines' : 'models';
    expect({ entry, mistake: mistakeOf({ [list]: [entry] } as Part) }).toEqual({ entry, mistake: undefined });
  }
});

test('the pages contain catalog blocks', () => {
  const parts = pages.flatMap(blocksOf).map((block) => parse(block) as Part);
  expect(parts.filter(isOfCatalog).length).toBeGreaterThan(12);
});
