import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { functionsOf } from '../ops/function-lines.ts';

/** House rules that neither the compiler nor the import rules can enforce. */

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const PRODUCT = ['src', 'queues', 'workers', 'migrations', 'ops', 'console'];
const FILE_LINES_MAX = 300;
const ROUTES_LINES_MAX = 150;
const FUNCTION_LINES_MAX = 60;

/** Files that may be longer, and why. */
const LONG_FILES: readonly string[] = [];

interface Source {
  readonly path: string;
  readonly text: string;
  readonly lines: number;
  readonly imports: readonly string[];
}

function sourcesBelow(folder: string): Source[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter(
      (entry) =>
        entry.isFile() && /\.(tsx?|mjs)$/.test(entry.name) && !/(\.test|\.gen|\.d)\.ts$/.test(entry.name),
    )
    .map((entry) => {
      const absolute = join(entry.parentPath, entry.name);
      const text = readFileSync(absolute, 'utf8');
      const imports = [...text.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map((match) => match[1]!);
      return { path: relative(ROOT, absolute), text, lines: text.split('\n').length, imports };
    });
}

const sources = PRODUCT.filter((folder) => statSync(join(ROOT, folder)).isDirectory()).flatMap(sourcesBelow);

function offenders(rule: (source: Source) => boolean): string[] {
  return sources.filter(rule).map((source) => source.path);
}

/** Returns the sources outside `allowed` that import one of the packages. */
function importersOf(packages: RegExp, allowed: RegExp): string[] {
  return offenders(
    (source) => !allowed.test(source.path) && source.imports.some((name) => packages.test(name)),
  );
}

test('there is something to check', () => {
  expect(sources.length).toBeGreaterThan(100);
});

test('no file is too long to read in one go', () => {
  expect(
    offenders(({ path, lines }) => {
      const most = /\.routes\.ts$/.test(path) ? ROUTES_LINES_MAX : FILE_LINES_MAX;
      return lines > most && !LONG_FILES.includes(path);
    }),
  ).toEqual([]);
});

test('no function of the product is longer than a screen', () => {
  // counted like `npm run house`: the linter's rule leaves out heads and blank lines
  const product = sources.filter(({ path }) => /^(src|queues|workers)\/.*\.ts$/.test(path));
  const long = product.flatMap(({ path, text }) =>
    functionsOf(path, text)
      .filter(({ lines }) => lines > FUNCTION_LINES_MAX)
      .map(({ head, lines }) => `${path}: ${head} has ${lines} lines`),
  );
  expect(long).toEqual([]);
});

test('no exemption outlives its reason', () => {
  const long = sources.filter(({ lines }) => lines > FILE_LINES_MAX).map(({ path }) => path);
  expect(LONG_FILES.filter((path) => !long.includes(path))).toEqual([]);
});

test('every folder has a rank', () => {
  const file = readFileSync(join(ROOT, '.dependency-cruiser.js'), 'utf8');
  const ranks = file.slice(file.indexOf('const RANKS'), file.indexOf('];\n'));
  const rules = [...ranks.matchAll(/'(\^[^']+)'/g)].map(
    ([, rule = '']) => new RegExp(rule.replaceAll('\\\\', '\\')),
  );
  const ranked = (path: string) => rules.some((rule) => rule.test(path));
  expect(offenders(({ path }) => /^(src|queues|workers)\//.test(path) && !ranked(path))).toEqual([]);
});

test('a log line names a task by its public id', () => {
  const raw = /\blog\.\w+\(\s*\{[^}]*\btaskId:/;
  expect(offenders(({ text }) => raw.test(text))).toEqual([]);
});

test('file names are kebab-case with a role suffix, and say what is inside', () => {
  expect(offenders(({ path }) => !/(^|\/)\d*[a-z0-9-]+(\.[a-z-]+)*\.(tsx?|mjs)$/.test(path))).toEqual([]);
  expect(
    offenders(({ path }) => /(^|\/)(utils?|helpers?|manager|common|misc|shared)(\.|\/|$)/.test(path)),
  ).toEqual([]);
});

test('sentences are plain English', () => {
  // phrases that readers had to read twice; add those you come across
  const riddles =
    /better things to do|makes no sense|\b[Ss]igns off\b|\bHears of\b|\bthe deed\b|\bthe attempt broke\b/;
  expect(offenders(({ text }) => riddles.test(text))).toEqual([]);
  // in what callers and operators read: phrases no native speaker would use
  const told =
    /['"`][^'"`\n]*(?:\bthis once\b|\bas ever\b|\bstands twice\b|\bcan be asked here\b|\bnot (?:offered|kept|honoured) here\b|\bof ours\b|\btells whether\b|\bturned away\b|\bwould be tried again\b)/;
  const shown = (text: string) => text.replace(/^\s*(?:\/\/|\*|\/\*).*$/gm, '').replace(/\/\/ .*$/gm, '');
  expect(offenders(({ path, text }) => /^(src|queues)\//.test(path) && told.test(shown(text)))).toEqual([]);
});

test('one name, one thing', () => {
  const declared = new Map<string, string[]>();
  for (const { path, text } of sources.filter((source) => /^(src|queues|workers)\//.test(source.path))) {
    for (const [, name = ''] of text.matchAll(/^export (?:abstract )?(?:class|interface|type) (\w+)/gm)) {
      declared.set(name, [...(declared.get(name) ?? []), path]);
    }
  }
  expect([...declared].filter(([, paths]) => paths.length > 1)).toEqual([]);
});

test('there are no barrels', () => {
  expect(offenders(({ path }) => /(^|\/)index\.ts$/.test(path))).toEqual([]);
  expect(offenders(({ text }) => /^export \* from/m.test(text))).toEqual([]);
});

test('the environment is read only at entry points', () => {
  // exactly these: an entry point that no longer reads it leaves the list
  expect(
    offenders(({ path, text }) => !/^(ops|console)\//.test(path) && /\bprocess\.env\b/.test(text)).sort(),
  ).toEqual([
    'migrations/run.ts',
    // samples that callers paste read the callers' environment, not ours
    'src/http/openapi/openapi-samples.ts',
    'src/operators/cli/main.ts',
    'src/operators/first-start.ts',
    'src/server.ts',
    'workers/main.ts',
  ]);
});

test('only stores and read models speak SQL', () => {
  const allowed = /^(src\/store\/|migrations\/|ops\/|src\/ledger\/|src\/.*\.(sql|store|read-model)\.ts$)/;
  expect(importersOf(/^(pg|sequelize)$/, allowed)).toEqual([]);
  // a statement is private to the folder of its store
  expect(importersOf(/^\.\.\/.*\.sql\.ts$/, /^$/)).toEqual([]);
  expect(
    offenders(
      ({ path, text }) =>
        !allowed.test(path) && /['"`]\s*(SELECT|INSERT INTO|UPDATE|DELETE FROM) [a-z_*]/.test(text),
    ),
  ).toEqual([]);
});

test('SQL is never built from values', () => {
  expect(
    offenders(
      ({ path, text }) => path.startsWith('src/') && /\breplacements:|\b[Ss]equelize\.literal\(/.test(text),
    ),
  ).toEqual([]);
});

test('JSON for the database is written by jsonParameter, which replaces what Postgres rejects', () => {
  const isStore = ({ path }: Source) => /\.store\.ts$/.test(path) || path.startsWith('src/ledger/');
  expect(offenders((source) => isStore(source) && source.text.includes('JSON.stringify'))).toEqual([]);
});

test('only the ledger moves money', () => {
  const writes =
    /(INSERT INTO|UPDATE|DELETE FROM)\s+(balances|holds|ledger_entries|generations|usage_rollups)\b/;
  expect(offenders(({ path, text }) => path.startsWith('src/') && writes.test(text))).toEqual([]);
  // its clock is for everybody
  const calls = /\b(ledger_(?!now\b)[a-z_]+|open_account|change_account|change_api_key|close_months)\(/;
  expect(
    offenders(({ path, text }) => /^(src\/(?!ledger\/)|workers\/|queues\/)/.test(path) && calls.test(text)),
  ).toEqual([]);
});

test('each heavy or dangerous package has one home', () => {
  expect(importersOf(/^fluent-ffmpeg$/, /^src\/media\/ffmpeg\.ts$/)).toEqual([]);
  expect(importersOf(/^sharp$/, /^src\/(media|engines\/builtin)\//)).toEqual([]);
  expect(importersOf(/^bullmq$/, /^(queues|workers)\//)).toEqual([]);
  expect(importersOf(/^node:child_process$/, /^(src\/media|src\/engines|ops)\//)).toEqual([]);
  expect(importersOf(/^express$/, /^src\/(http|app|operators)|\.(routes|pages)\.ts$/)).toEqual([]);
});

test('calls to third-party servers go through one client', () => {
  expect(importersOf(/^undici$/, /^src\/upstream\//).sort()).toEqual([
    // its library makes the requests
    'src/console/openid-provider.ts',
    // the types of bodies and streams
    'src/engines/comfyui/progress-sockets.ts',
    'src/engines/form-body.ts',
    // checks this host
    'src/engines/supervision/health-check.ts',
    'src/engines/upstream-http.ts',
    // checks this host
    'workers/preemption-notice.ts',
  ]);
});

test('the time of day comes from a clock, but durations never do', () => {
  // setting the clock must not end a wait: durations come from performance.now()
  const asks = ({ path, text }: Source) =>
    /^(src|queues|workers)\//.test(path) && /\bDate\.now\(|\bnew Date\(\)/.test(text);
  expect(offenders(asks).sort()).toEqual([
    'src/lib/clock.ts',
    'src/lib/ids.ts',
    'src/lib/logger.ts',
    'src/store/database-clock.ts',
  ]);
});

test('workers know nothing of HTTP', () => {
  expect(
    offenders(
      ({ path, imports }) =>
        path.startsWith('workers/') &&
        imports.some((name) => /\/http\/|\.routes\.ts|\.presenter\.ts/.test(name)),
    ),
  ).toEqual([]);
});

test('nothing is left half done or suppressed', () => {
  expect(offenders(({ text }) => /\b(TODO|FIXME|XXX|HACK)\b/.test(text))).toEqual([]);
  expect(offenders(({ text }) => /@ts-(ignore|expect-error|nocheck)/.test(text))).toEqual([]);
});

/** Returns the text between the parenthesis that ends at `start` and its partner. */
function argumentsFrom(text: string, start: number): string {
  let depth = 1;
  let end = start;
  for (; depth > 0 && end < text.length; end += 1) {
    depth += text[end] === '(' ? 1 : text[end] === ')' ? -1 : 0;
  }
  return text.slice(start, end);
}

test('hooks skip what was never opened, so that the first error is the only one', () => {
  const found = [...PRODUCT, 'test'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .flatMap((name) => {
        const text = readFileSync(join(ROOT, folder, name), 'utf8');
        const unset = new Set(
          [...text.matchAll(/^\s*let (\w+): [^=]*?;$/gm)].map(([, variable]) => variable),
        );
        return [...text.matchAll(/\bafter(?:All|Each)\(/g)].flatMap((hook) =>
          [...argumentsFrom(text, hook.index + hook[0].length).matchAll(/(?<![\w.])(\w+)!?\.\w/g)]
            .filter(([, variable]) => unset.has(variable))
            .map(([use]) => `${folder}/${name}: ${use}`),
        );
      }),
  );
  expect(found).toEqual([]);
});

describe('the web console', () => {
  const files = sources.filter(({ path }) => path.startsWith('console/'));
  const consoleOffenders = (rule: (source: Source) => boolean) => files.filter(rule).map(({ path }) => path);

  test('no amount of money passes through a float', () => {
    const floats = /\b(Number|parseFloat)\((?!\(part \* 1_000_000n\))|\.toFixed\(/;
    // pixels of a chart, milliseconds of a duration, and counts are not money
    const allowed =
      /^console\/(ui\/chart\.tsx|pages\/usage\/usage-report\.tsx|lib\/time\.ts|api\/new-files\.ts)$/;
    expect(consoleOffenders(({ path, text }) => !allowed.test(path) && floats.test(text))).toEqual([]);
  });

  test('only api fetches, only the device store keeps data, and nothing writes markup', () => {
    expect(
      consoleOffenders(
        ({ path, text }) => !path.startsWith('console/api/') && /\bfetch\(|EventSource\(/.test(text),
      ),
    ).toEqual([]);
    expect(
      consoleOffenders(
        ({ path, text }) =>
          path !== 'console/lib/device-store.ts' &&
          /\b(localStorage|sessionStorage|indexedDB|document\.cookie)\b/.test(text),
      ),
    ).toEqual([]);
    expect(
      consoleOffenders(({ text }) => /innerHTML|outerHTML|insertAdjacentHTML|document\.write/.test(text)),
    ).toEqual([]);
  });

  test('every visible word can be translated', () => {
    const literal = />\s*[A-Za-z][a-z]+[^<>{}=();]*</;
    const isMarkup = (path: string) => path.endsWith('.tsx');
    const shown = (text: string) =>
      text.replace(/^\s*(\/\/|\*|\/\*).*$/gm, '').replace(/=>|\bTollgate\b/g, '');
    expect(consoleOffenders(({ path, text }) => isMarkup(path) && literal.test(shown(text)))).toEqual([]);
  });
});
