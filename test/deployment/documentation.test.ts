import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { parse } from 'yaml';
import { cliReference } from '../../ops/cli-reference.ts';
import { INVARIANTS } from '../../src/ledger/invariants.sql.ts';
import { errorCodes } from '../../src/lib/errors.ts';
import { RETRY_SCHEDULE_MS } from '../../src/webhooks/retry-schedule.ts';
import { newWebhookSecret, signatureHeaders } from '../../src/webhooks/webhook-signature.ts';
import { ROOT } from './compose-file.ts';

const DOCS = join(ROOT, 'docs');

function files(folder: string, ending: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending) && !name.includes('node_modules'))
    .map((name) => join(folder, name));
}

const pages = files(DOCS, '.md');
const tests = ['src', 'queues', 'workers', 'ops', 'test'].flatMap((folder) =>
  files(join(ROOT, folder), '.test.ts'),
);
const read = (path: string) => readFileSync(path, 'utf8');

/** The anchor that a heading gets: lower case, words joined by hyphens. */
function anchor(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s-]/gu, '')
    .trim()
    .replaceAll(/\s/g, '-');
}

test.each(pages.map((page) => relative(ROOT, page)))('every link of %s leads somewhere', (page) => {
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

test('every test that security.md names is there, under that name', () => {
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

test('the runbook has a row for every alert, and no other', () => {
  const rules = parse(read(join(ROOT, 'ops/prometheus/alerts.yaml'))) as {
    groups: { rules: { alert: string }[] }[];
  };
  const alerts = rules.groups.flatMap((group) => group.rules.map(({ alert }) => alert));
  const rows = [...read(join(DOCS, 'operating.md')).matchAll(/^\| (Tollgate\w+) \|/gm)].map(
    ([, name]) => name,
  );
  expect(rows.toSorted()).toEqual(alerts.toSorted());
});

test('operating.md lists every setting that the configuration reads', () => {
  const sources = files(join(ROOT, 'src/config'), '.ts').filter((path) => !path.endsWith('.test.ts'));
  const settings = sources.flatMap((path) =>
    [...read(path).matchAll(/^ {2}([A-Z][A-Z0-9_]+): [a-z]/gm)].map(([, name]) => name),
  );
  const [, table = ''] = /### Settings\n([\s\S]*?)\n\n[^|\n]/.exec(read(join(DOCS, 'operating.md'))) ?? [];
  expect(settings.length).toBeGreaterThan(15);
  expect(
    settings.filter((name) => !new RegExp(`\`${name}\`|${name?.split('_')[0]}_\\*`).test(table)),
  ).toEqual([]);
});

test('the oldest services are the same wherever they are named', () => {
  const named = (pattern: RegExp, ...files: string[]) => [
    ...new Set(files.flatMap((file) => [...read(join(ROOT, file)).matchAll(pattern)].map(([, it]) => it))),
  ];
  const pages = ['README.md', 'docs/operating.md'];
  expect(named(/Postgres (\d+) or newer/g, ...pages)).toEqual(['14']);
  expect(named(/POSTGRES_OLDEST = (\d+)/g, 'migrations/migrate.ts')).toEqual(['14']);
  expect(named(/Postgres (\d+)\+/g, 'ops/embedded/postgres-binaries.ts')).toEqual(['14']);
  expect(named(/Redis ([\d.]+) or newer/g, ...pages)).toEqual(['6.2']);
  expect(named(/OLDEST_VERSION = \[(\d, \d)\]/g, 'ops/embedded/redis-binary.ts')).toEqual(['6, 2']);
});

test('errors.md tells every error code once, below its status', () => {
  const sections = read(join(DOCS, 'errors.md')).split(/^## /m).slice(1);
  const told = sections.flatMap((section) => {
    const statuses = section.split('\n', 1)[0]!.replace('5xx', '500 502 503 504');
    const codes = [...section.matchAll(/^\| ((?:`\w+`(?:, )?)+) \|/gm)].flatMap(
      ([, cell = '']) => cell.match(/\w+/g) ?? [],
    );
    return codes.map((code) => ({ code, statuses }));
  });
  expect(told.map(({ code }) => code).toSorted()).toEqual(
    errorCodes()
      .map(({ code }) => code)
      .toSorted(),
  );
  const elsewhere = errorCodes().filter(
    ({ code, status }) => !told.some((row) => row.code === code && row.statuses.includes(String(status))),
  );
  expect(elsewhere).toEqual([]);
});

test.each(['README.md', ...pages.map((page) => relative(ROOT, page))])(
  'every YAML block of %s can be read',
  (page) => {
    for (const [, block = ''] of read(join(ROOT, page)).matchAll(/^```ya?ml\n([\s\S]*?)^```$/gm)) {
      expect(() => parse(block)).not.toThrow();
    }
  },
);

test('every entry that tollgate.yaml shows in a comment can be read', () => {
  const entries = [...read(join(ROOT, 'tollgate.yaml')).matchAll(/^ *# - .*(?:\n *# {3,}\S.*)*/gm)].map(
    ([lines]) => lines.replaceAll(/^ *# /gm, ''),
  );
  expect(entries.length).toBeGreaterThan(8);
  for (const entry of entries) {
    expect(() => parse(entry)).not.toThrow();
  }
});

test('cli.md is what the commands say (npm run generate writes it)', () => {
  expect(read(join(DOCS, 'cli.md'))).toBe(cliReference());
});

test('every command of tollgate that a page names is there', () => {
  const commands = [...cliReference().matchAll(/^\| `([a-z -]+[a-z])/gm)].map(([, words = '']) => words);
  const named = ['README.md', ...pages.map((page) => relative(ROOT, page))].flatMap((page) =>
    [...read(join(ROOT, page)).matchAll(/`tollgate ([a-z][a-z -]*[a-z])/g)].map(([, words = '']) => ({
      page,
      words,
    })),
  );
  expect(named.length).toBeGreaterThan(15);
  expect(
    named.filter(({ words }) => !commands.some((command) => `${words} `.startsWith(`${command} `))),
  ).toEqual([]);
});

test('the README counts the invariants', () => {
  expect(read(join(ROOT, 'README.md'))).toContain(`${INVARIANTS.length} invariants`);
});

test('webhooks.md checks a signature as it is made, and gives the tries that are made', async () => {
  const page = read(join(DOCS, 'webhooks.md'));
  const [, code = ''] = /```js\n([\s\S]*?)```/.exec(page) ?? [];
  const file = join(mkdtempSync(join(tmpdir(), 'tollgate-docs-')), 'check.mjs');
  writeFileSync(file, code);
  const verdicts = spawnSync(process.execPath, ['--input-type=module'], {
    input: `import { isGenuine } from ${JSON.stringify(file)};
      const { headers, body, secret } = ${JSON.stringify(signedEvent())};
      console.log([isGenuine(headers, body, secret), isGenuine(headers, body + ' ', secret),
        isGenuine(headers, body, secret, Date.now() + 400_000)].join());`,
    encoding: 'utf8',
  });
  rmSync(dirname(file), { recursive: true });
  expect(verdicts.stdout.trim()).toBe('true,false,false');
  const pauses = RETRY_SCHEDULE_MS.slice(1).map((ms) =>
    ms < 60_000 ? `${ms / 1_000} s` : ms < 3_600_000 ? `${ms / 60_000} min` : `${ms / 3_600_000} h`,
  );
  expect(page).toContain(`after ${pauses.slice(0, -1).join(', ')} and ${pauses.at(-1)},`);
});

function signedEvent() {
  const [body, secret] = ['{"event_type":"ASYNC_TASK_RESULT"}', newWebhookSecret()];
  const headers = signatureHeaders('msg_1', Math.floor(Date.now() / 1_000), body, [
    newWebhookSecret(),
    secret,
  ]);
  return { headers, body, secret };
}
