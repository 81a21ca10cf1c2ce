import { spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { documentOf } from '../../ops/openapi-routes.ts';
import { cliReference } from '../../ops/reference/cli-reference.ts';
import { REFERENCES } from '../../ops/reference/references.ts';
import { retryPauses } from '../../ops/reference/webhooks-reference.ts';
import { API_DESCRIPTION } from '../../src/api-description.ts';
import { Aliases, BUILTIN_ALIASES } from '../../src/http/aliases.ts';
import { INVARIANTS } from '../../src/ledger/invariants.sql.ts';
import { backoffMs, FAILURES_MAX } from '../../src/tasks/retry-policy.ts';
import { newWebhookSecret, webhookSignatureHeaders } from '../../src/webhooks/webhook-signature.ts';
import { temporaryFolder } from '../factories/temporary-folder.ts';
import { ROOT } from './compose-file.ts';
import { alertNames, DOCS, files, pages, presentPages, read } from './documentation-pages.ts';

const tests = ['src', 'queues', 'workers', 'ops', 'test'].flatMap((folder) =>
  files(join(ROOT, folder), '.test.ts'),
);

/** Returns the anchor of a heading: lower case, words joined by hyphens. */
function anchor(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s-]/gu, '')
    .trim()
    .replaceAll(/\s/g, '-');
}

test.each(pages.map((page) => relative(ROOT, page)))('every link of %s has a target', (page) => {
  const path = join(ROOT, page);
  const broken: string[] = [];
  for (const [, target = ''] of read(path).matchAll(/\]\((?!https?:)([^)\s]+)\)/g)) {
    const [file = '', fragment] = target.split('#');
    const destination = file === '' ? path : resolve(dirname(path), file);
    const headings = () =>
      [...read(destination).matchAll(/^#+ (.+)$/gm)].map(([, text = '']) => anchor(text));
    if (!existsSync(destination) || (fragment !== undefined && !headings().includes(fragment))) {
      broken.push(target);
    }
  }
  expect(broken).toEqual([]);
});

test('every test named in security.md exists under that name', () => {
  const text = read(join(DOCS, 'security.md')).replaceAll(/\s+/g, ' ');
  const missing = [...text.matchAll(/`([\w/.-]+\.test\.ts)`/g)]
    .map(([, name = '']) => name)
    .filter((name) => !tests.some((path) => path.endsWith(`/${name}`)));
  const all = tests.map(read).join('\n');
  const titles = [...text.matchAll(/\.test\.ts`[,:]? ((?:(?:, )?"[^"]+")+)/g)]
    .flatMap(([, list = '']) => [...list.matchAll(/"([^"]+)"/g)])
    .map(([, title = '']) => title.replace(/ ?…$/, '').trim())
    .filter((title) => !all.includes(title));
  expect({ missing, titles }).toEqual({ missing: [], titles: [] });
});

test('each release says whether it migrates and to which release one may go back', () => {
  const releases = read(join(ROOT, 'CHANGELOG.md')).split(/^## /m).slice(1);
  expect(releases.length).toBeGreaterThan(0);
  for (const release of releases) {
    expect(release).toMatch(/^[^\n]+\n\nMigrations: (yes|no)\. May go back: \S[^\n]*\n\n/);
  }
});

test('the runbook has exactly one row for every alert', () => {
  const rows = [...read(join(DOCS, 'runbook.md')).matchAll(/^\| (Tollgate\w+) \|/gm)].map(([, name]) => name);
  expect(rows.toSorted()).toEqual(alertNames().toSorted());
});

test('the oldest supported service versions are the same everywhere', () => {
  const named = (pattern: RegExp, ...files: string[]) => [
    ...new Set(files.flatMap((file) => [...read(join(ROOT, file)).matchAll(pattern)].map(([, it]) => it))),
  ];
  const pages = ['README.md', 'docs/reference/settings.md'];
  expect(named(/Postgres (\d+) or newer/g, ...pages)).toEqual(['14']);
  expect(named(/POSTGRES_OLDEST = (\d+)/g, 'migrations/unsuitable-server.ts')).toEqual(['14']);
  expect(named(/Postgres (\d+)\+/g, 'ops/embedded/postgres-binaries.ts')).toEqual(['14']);
  expect(named(/Redis ([\d.]+) or newer/g, ...pages)).toEqual(['6.2']);
  expect(named(/OLDEST_VERSION = \[(\d, \d)\]/g, 'ops/embedded/redis-binary.ts')).toEqual(['6, 2']);
});

test.each(REFERENCES)('reference/%s matches the code (written by npm run generate)', (file, text) => {
  expect(read(join(DOCS, 'reference', file))).toBe(text());
});

/** Name patterns rather than names. */
const PATTERNS = ['x.sql.ts', 'x.store.ts', 'migrations/NNNN-what.ts'];

test('every repository file named in a page exists', () => {
  const folders = ['src', 'queues', 'workers', 'migrations', 'ops', 'test', 'bench', 'docs'];
  const there = folders.flatMap((folder) => files(join(ROOT, folder), ''));
  const isThere = (name: string) => there.some((path) => path.endsWith(`/${name}`));
  const unknown = presentPages.flatMap((page) =>
    [...read(page).matchAll(/`(\w[\w./-]*\.(?:ts|mjs|sh|conf|sql))`/g)]
      .map(([, name = '']) => name)
      .filter((name) => !PATTERNS.includes(name) && !isThere(name))
      .map((name) => `${relative(ROOT, page)}: ${name}`),
  );
  expect(unknown).toEqual([]);
});

/** A web page rather than an operation, and a path of ComfyUI. */
const ELSEWHERE = ['/admin/queues', '/api/jobs'];

test('every API path named in a page exists', () => {
  const aliases = new Aliases(BUILTIN_ALIASES);
  const routes = Object.keys(documentOf().paths as object).map(
    (path) => new RegExp(`^${path.replaceAll(/\{[^}]+\}/g, '[^/]+(?:/[^/]+)?')}$`),
  );
  const unknown = presentPages.flatMap((page) =>
    [...read(page).matchAll(/`(?:(?:GET|POST|PATCH|DELETE) )?(\/(?:api|v1|v3|admin|vendorx)\/[^`?\s]*)/g)]
      .map(([, path = '']) => path)
      .filter((path) => !/[*…]|\/(v1|async|admin)?$/.test(path) && !ELSEWHERE.includes(path))
      .filter((path) => !routes.some((route) => route.test(aliases.resolve(path))))
      .map((path) => `${relative(ROOT, page)}: ${path}`),
  );
  expect(unknown).toEqual([]);
});

/** Names that concepts.md rules out, wherever a reader meets them. */
const OTHER_NAMES =
  /admin token|\bmovements? of (?:the|an account)|signed (?:url|link)s?\b|\btenants?\b|maintenance jobs?\b/gi;

test('pages, commands and the API use the names of concepts.md', () => {
  const surfaces = [
    ...pages
      .filter((page) => !/CHANGELOG\.md$|concepts\.md$/.test(page))
      .map((page) => [relative(ROOT, page), read(page)] as const),
    ['the command line', cliReference()] as const,
    ['the API', JSON.stringify(documentOf())] as const,
  ];
  const found = surfaces.flatMap(([where, text]) =>
    [...text.matchAll(OTHER_NAMES)].map(([name]) => `${where}: ${name}`),
  );
  expect(found).toEqual([]);
});

test('the order in which folders import each other is the same in both pages that give it', () => {
  const [told, again] = ['CONTRIBUTING.md', 'docs/architecture.md'].map((page) =>
    /\blib ← .+? ← server, [\w, -]+/s
      .exec(read(join(ROOT, page)))?.[0]
      .replaceAll(/\s+/g, ' ')
      .trim(),
  );
  expect(told).toContain('remote-workers');
  expect(told).toBe(again);
});

test('webhooks.md describes every event', () => {
  const told = read(join(DOCS, 'webhooks.md'));
  expect(Object.keys(API_DESCRIPTION.events).filter((type) => !told.includes(type))).toEqual([]);
});

test('every page counts the same number of invariants', () => {
  const told = presentPages
    .flatMap((page) => [...read(page).matchAll(/(\d+) (?:checked )?invariants|"checked":(\d+)/g)])
    .map(([, words, json]) => Number(words ?? json));
  expect(told.length).toBeGreaterThan(3);
  expect([...new Set(told)]).toEqual([INVARIANTS.length]);
});

/** Returns the sentences that pages quote from the benches, with their names. */
function quotedSentences(): [name: string, sentence: string][] {
  const quotes = presentPages.flatMap((page) => [
    ...read(page).matchAll(/^(?:- )?(.+) <!-- bench: ([\w-]+) -->$/gm),
  ]);
  return quotes.map(([, sentence = '', name = '']) => [name, sentence]);
}

test('a sentence of the benches reads the same wherever it is quoted', () => {
  const quoted = quotedSentences();
  const first = new Map([...quoted].reverse());
  expect(quoted.length).toBeGreaterThan(5);
  expect(quoted.filter(([name, sentence]) => first.get(name) !== sentence)).toEqual([]);
});

test('the bench figures quoted in pages are in benchmarks.md', () => {
  const benchmarks = read(join(DOCS, 'benchmarks.md')).replaceAll(',', '');
  const figures = quotedSentences().flatMap(([, sentence]) =>
    [...sentence.matchAll(/\*\*([^*]+)\*\*/g)].flatMap(([, bold = '']) => bold.match(/\d[\d.,]*/g) ?? []),
  );
  expect(figures.length).toBeGreaterThan(5);
  expect(figures.filter((figure) => !benchmarks.includes(figure.replaceAll(',', '')))).toEqual([]);
});

test('async.md lists the actual pauses before retries of a failed task', () => {
  const pauses = Array.from({ length: FAILURES_MAX - 1 }, (_, failures) =>
    [0, 1].map((random) => backoffMs(failures, undefined, () => random) / 1_000).join('–'),
  );
  expect(read(join(DOCS, 'architecture/async.md'))).toContain(`${pauses.join(', ')} s`);
});

test('no page tells readers to fetch the tollgate command from a registry', () => {
  expect(pages.filter((page) => /npx (?:--yes )?tollgate/.test(read(page)))).toEqual([]);
});

test("webhooks.md verifies the product's signatures and lists the actual retries", async () => {
  const page = read(join(DOCS, 'webhooks.md'));
  const [, code = ''] = /```js\n([\s\S]*?)```/.exec(page) ?? [];
  const file = join(temporaryFolder('docs'), 'check.mjs');
  writeFileSync(file, code);
  const verdicts = spawnSync(process.execPath, ['--input-type=module'], {
    input: `import { isGenuine } from ${JSON.stringify(file)};
      const { headers, body, secret } = ${JSON.stringify(signedEvent())};
      console.log([isGenuine(headers, body, secret), isGenuine(headers, body + ' ', secret),
        isGenuine(headers, body, secret, Date.now() + 400_000)].join());`,
    encoding: 'utf8',
  });
  expect(verdicts.stdout.trim()).toBe('true,false,false');
  const pauses = retryPauses();
  expect(page).toContain(`after ${pauses.slice(0, -1).join(', ')} and ${pauses.at(-1)},`);
});

function signedEvent() {
  const [body, secret] = ['{"event_type":"ASYNC_TASK_RESULT"}', newWebhookSecret()];
  const headers = webhookSignatureHeaders('msg_1', Math.floor(Date.now() / 1_000), body, [
    newWebhookSecret(),
    secret,
  ]);
  return { headers, body, secret };
}
