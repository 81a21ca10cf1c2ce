import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse, stringify } from 'yaml';
import { temporaryFolder } from '../factories/temporary-folder.ts';
import { startOpenAiUpstream } from '../factories/upstream-openai.ts';
import type { UpstreamServer } from '../factories/upstream-server.ts';
import { environmentWithCurl } from '../setup/curl-from-apt.ts';
import { PACKAGES_TIMEOUT_MS } from '../setup/debian-packages.ts';
import { ADMIN_TOKEN, type LocalService, startService } from './running-service.ts';

/**
 * Runs the shell blocks of the pages that a newcomer follows exactly as written, each page in one shell, against the running product. Only
 * the address and the location of the keys differ. Blocks that are not run are listed here with the reason.
 */

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PAGE_TIMEOUT_MS = 90_000;

interface Page {
  readonly page: string;
  /** Blocks that are not run, by a text they contain, and why. */
  readonly left?: Readonly<Record<string, string>>;
}

const PAGES: readonly Page[] = [
  {
    page: 'README.md',
    left: { 'npm run migrate': 'needs a separate production build: test/deployment/ runs these commands' },
  },
  { page: 'docs/api-guide.md' },
  { page: 'docs/first-provider.md' },
  { page: 'docs/adding-a-provider.md' },
  {
    page: 'docs/adding-an-engine.md',
    left: { 'service-account.json': 'needs the key file of a Google account' },
  },
  { page: 'docs/sell-your-gpu.md' },
];

type Entry = Record<string, unknown> & { readonly id: string };
type Part = { readonly models?: readonly (Entry & { readonly routes: readonly Record<string, string>[] })[] };

let upstream: UpstreamServer;
let service: LocalService;
let folder: string;
/** Environment with `curl`, which every page needs. */
let commands: Readonly<Record<string, string | undefined>>;

beforeAll(async () => {
  commands = { PATH: process.env.PATH, ...(await environmentWithCurl(process.env)) };
  upstream = await startOpenAiUpstream();
  service = await startService({ catalog: await catalogOfThePages() });
  folder = temporaryFolder('documented');
  await mkdir(join(folder, '.data'));
  await writeFile(join(folder, '.data/owner.key'), `${service.key}\n`);
  await writeFile(join(folder, '.data/admin.token'), `${ADMIN_TOKEN}\n`);
}, PACKAGES_TIMEOUT_MS);

afterAll(async () => {
  await service?.stop();
  await upstream?.close();
  if (folder) {
  }
});

async function blocksOf(page: string, language: RegExp): Promise<string[]> {
  const text = await readFile(join(ROOT, page), 'utf8');
  const pattern = new RegExp(`^\`\`\`(?:${language.source})\\n([\\s\\S]*?)^\`\`\`$`, 'gm');
  return [...text.matchAll(pattern)].map(([, block = '']) => block);
}

/** Returns the shipped catalog with every model that the pages add. Their providers are our upstream, their engines builtin. */
async function catalogOfThePages(): Promise<string> {
  const catalog = parse(await readFile(join(ROOT, 'tollgate.yaml'), 'utf8')) as Record<string, Entry[]>;
  const { providers = [], models = [], engines = [] } = catalog;
  const add = (list: Entry[], entry: Entry) => {
    if (!list.some(({ id }) => id === entry.id)) {
      list.push(entry);
    }
  };
  for (const { page } of PAGES) {
    for (const block of await blocksOf(page, /ya?ml/)) {
      for (const model of (parse(block) as Part).models ?? []) {
        add(models, model);
        for (const { provider, engine } of model.routes) {
          if (provider !== undefined) {
            add(providers, { id: provider, protocol: 'openai', base_url: upstream.url });
          }
          if (engine !== undefined) {
            add(engines, { id: engine, kind: 'builtin' });
          }
        }
      }
    }
  }
  return stringify({ ...catalog, providers, models, engines });
}

function errorCodesOf(text: string): string[] {
  return [...text.matchAll(/"error":\{"code":"([a-z_]+)"/g)].map(([, code = '']) => code);
}

/** Returns the names of all members of an answer, in their places; for a list, only that it is one. */
function shapeOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) {
    return '';
  }
  return Array.isArray(value)
    ? []
    : Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shapeOf(member)]));
}

/** Returns the blocks of answers, which follow their commands at once. */
async function answersOf(page: string): Promise<string[]> {
  const text = await readFile(join(ROOT, page), 'utf8');
  return [...text.matchAll(/^```sh\n[^`]*^```\n+```json\n([\s\S]*?)^```$/gm)].map(([, block = '']) => block);
}

/** Returns the shapes of the answers in a text that are shown whole: an ellipsis outside of a string makes an answer unreadable. */
function shapesOf(text: string): string[] {
  return text.split(/\n(?=\{)/).flatMap((answer) => {
    try {
      return [JSON.stringify(shapeOf(JSON.parse(answer)))];
    } catch {
      return [];
    }
  });
}

async function run(script: string): Promise<{ code: number; output: string }> {
  const child = spawn('bash', ['-c', script], {
    cwd: folder,
    env: { ...commands, TOLLGATE_URL: service.url, TOLLGATE_KEY: service.key },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
  }
  const [code] = await once(child, 'close');
  return { code: Number(code), output };
}

test.each(PAGES)(
  'the commands of $page',
  async ({ page, left = {} }) => {
    const blocks = await blocksOf(page, /sh|bash/);
    const isLeft = (block: string) => Object.keys(left).some((word) => block.includes(word));
    for (const word of Object.keys(left)) {
      expect(blocks.some((block) => block.includes(word))).toBe(true);
    }
    const script = blocks
      .filter((block) => !isLeft(block))
      .join('\n')
      .replaceAll('http://127.0.0.1:8080', service.url);
    const { code, output } = await run(script);
    const shown = (await blocksOf(page, /json/)).flatMap(errorCodesOf);
    expect({ told: errorCodesOf(output), output }).toEqual({ told: shown, output });
    expect(code).toBe(0);
    const whole = (await answersOf(page)).flatMap(shapesOf);
    const real = new Set(shapesOf(output.replaceAll('}{', '}\n{')));
    expect({ invented: whole.filter((shape) => !real.has(shape)), output }).toEqual({ invented: [], output });
    const asked = script.match(/^(?:call|curl|order) /gm)?.length ?? 0;
    const answered = output.match(/^\{|\}\{/gm)?.length ?? 0;
    expect({ answered: answered >= asked, output }).toEqual({ answered: true, output });
  },
  PAGE_TIMEOUT_MS,
);

test('every page for newcomers has commands', async () => {
  for (const { page } of PAGES) {
    expect({ page, commands: (await blocksOf(page, /sh|bash/)).length > 0 }).toEqual({
      page,
      commands: true,
    });
  }
});
