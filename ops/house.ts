import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { functionsOf } from './function-lines.ts';

/**
 * `npm run house`: prints the size and shape of the code as a table. The product is src, queues and workers without their tests.
 */

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const PRODUCT = ['src', 'queues', 'workers'];
const AROUND = ['ops', 'migrations', 'console'];
/**
 * A file this short with a single importer in the same folder counts as a closet. Exceptions: the statements of a store, which
 * are the other half of its file, and files with tests of their own.
 */
const CLOSET_LINES = 40;
/** The first count of this code base, at 55e8af1, and the best of the projects it was compared with. */
const BEFORE = {
  files: ['552', '322 (Immich, 46.9 k lines)'],
  lines: ['40,085', '26,900 (Formance)'],
  mean: ['73', '97 to 146'],
  fileSpread: ['63 / 178 / 288', '61 / 341 / 861 (Formance)'],
  functionSpread: ['5 / 26 / 70', '8 / 54 / – (Formance)'],
  closets: ['44', '–'],
  comments: ['8.2 %', '21.6 % (BullMQ)'],
  tests: ['0.68', '1.94 (BullMQ)'],
  dependencies: ['29', '5 (BullMQ)'],
} as const;
/**
 * Four walks through the code: the files involved in a call, an image, a payment and a retry. Composition passes parts to each
 * other as arguments, so a walk lists the parts that meet on it (determined by hand) and follows the imports of each; type
 * imports do not count. `before` is the same count at 55e8af1, with these parts.
 */
const LEDGER = ['src/ledger/ledger.engine.ts', 'src/ledger/ledger.store.ts'];
const WALKS = [
  {
    name: 'a chat call: routes, service, ledger, provider',
    before: 67,
    parts: [
      ...['src/http/http-app.ts', 'src/invocation/chat.routes.ts', 'src/invocation/invocation.service.ts'],
      ...['src/providers/openai.provider.ts', ...LEDGER],
    ],
  },
  {
    name: 'an image: order, relay, job, engine, storage, charge',
    before: 73,
    parts: [
      ...['src/http/http-app.ts', 'src/tasks/tasks.routes.ts', 'src/tasks/submit-task.service.ts'],
      ...['queues/relay.ts', 'workers/run-job.ts', 'src/tasks/generate.service.ts'],
      ...['src/engines/builtin/builtin-engine.ts', 'src/tasks/postprocess.service.ts'],
      ...['src/media/storage-fs.ts', ...LEDGER],
    ],
  },
  {
    name: 'a payment: event, inbox, Stripe, credits',
    before: 13,
    parts: [
      ...['src/billing/payment-event.routes.ts', 'src/billing/payment-inbox.service.ts'],
      ...['src/billing/payment/stripe.payment.ts', 'src/billing/checkout.service.ts'],
      'src/ledger/movements.ts',
    ],
  },
  {
    name: "an operator's retry: route, service, ledger",
    before: 25,
    parts: ['src/operators/operator-tasks.routes.ts', 'src/operators/task-retry.service.ts', ...LEDGER],
  },
] as const;

interface Source {
  readonly path: string;
  readonly text: string;
  readonly lines: number;
}

const sources = [...PRODUCT, ...AROUND, 'test'].flatMap(sourcesIn);
const isTest = ({ path }: Source) => path.startsWith('test/') || path.includes('.test.');
const product = sources.filter((source) => PRODUCT.some((folder) => source.path.startsWith(`${folder}/`)));
const code = product.filter((source) => !isTest(source));
const around = sources.filter((source) => AROUND.some((folder) => source.path.startsWith(`${folder}/`)));
const linesOf = (list: readonly Source[]) => list.reduce((sum, { lines }) => sum + lines, 0);
const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  readonly dependencies: Record<string, string>;
};

const now: Record<keyof typeof BEFORE, string> = {
  files: grouped(code.length),
  lines: grouped(linesOf(code)),
  mean: String(Math.round(linesOf(code) / code.length)),
  fileSpread: spread(code.map(({ lines }) => lines)),
  functionSpread: spread(code.flatMap(({ path, text }) => functionsOf(path, text).map(({ lines }) => lines))),
  closets: String(closets().length),
  comments: `${((100 * code.reduce((sum, { text }) => sum + commentLines(text), 0)) / linesOf(code)).toFixed(1)} %`,
  tests: (
    linesOf(sources.filter(isTest)) / linesOf([...code, ...around.filter((source) => !isTest(source))])
  ).toFixed(2),
  dependencies: String(Object.keys(dependencies).length),
};
const NAMES: Record<keyof typeof BEFORE, string> = {
  files: 'Files',
  lines: 'Lines',
  mean: 'Lines per file, mean',
  fileSpread: 'Lines per file: median / p95 / max',
  functionSpread: 'Lines per function: median / p95 / max',
  closets: `Files under ${CLOSET_LINES} lines with one importer, beside them`,
  comments: 'Comments',
  tests: 'Tests ÷ code',
  dependencies: 'Runtime dependencies',
};
process.stdout.write('| | Before | Now | Best of others |\n| --- | --- | --- | --- |\n');
for (const [key, [before, anchor]] of Object.entries(BEFORE) as [keyof typeof BEFORE, [string, string]][]) {
  process.stdout.write(`| ${NAMES[key]} | ${before} | ${now[key]} | ${anchor} |\n`);
}
for (const { name, before, parts } of WALKS) {
  process.stdout.write(`| Files involved in ${name} | ${before} | ${walk(parts).size} | – |\n`);
}
if (process.argv.includes('--closets')) {
  process.stdout.write(`\n${closets().join('\n')}\n`);
}

function sourcesIn(folder: string): Source[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name) && !name.endsWith('.gen.ts'))
    .map((name) => {
      const path = join(folder, name);
      const text = readFileSync(join(ROOT, path), 'utf8');
      return { path, text, lines: text.split('\n').length - 1 };
    });
}

/** Counts lines that contain nothing but a comment. */
function commentLines(written: string): number {
  let isInside = false;
  return written.split('\n').filter((line) => {
    const text = line.trim();
    const isComment = isInside || text.startsWith('//') || text.startsWith('/*');
    if (text.startsWith('/*')) {
      isInside = true;
    }
    if (text.endsWith('*/')) {
      isInside = false;
    }
    return isComment;
  }).length;
}

/** Returns short files with a single importer in the same folder. */
function closets(): string[] {
  const importers = new Map<string, string[]>();
  for (const { path, text } of [...code, ...around]) {
    for (const [, name = ''] of text.matchAll(/ from '(\.[^']+)'/g)) {
      const target = join(dirname(path), name);
      importers.set(target, [...(importers.get(target) ?? []), path]);
    }
  }
  const tested = new Set(product.filter(isTest).map(({ path }) => path.replace('.test.ts', '.ts')));
  return code
    .filter(({ path, lines }) => {
      const [only, ...others] = new Set(importers.get(path));
      return (
        lines < CLOSET_LINES &&
        !path.endsWith('.sql.ts') &&
        !tested.has(path) &&
        only !== undefined &&
        others.length === 0 &&
        dirname(only) === dirname(path)
      );
    })
    .map(({ path, lines }) => `${path} (${lines})`);
}

/** Returns the parts of a walk and every file they import, directly or indirectly. Throws when a part no longer exists. */
function walk(parts: readonly string[]): ReadonlySet<string> {
  const texts = new Map(code.map(({ path, text }) => [path, text.replace(/^import type [^;]*;$/gm, '')]));
  const gone = parts.find((part) => !texts.has(part));
  if (gone !== undefined) {
    throw new Error(`${gone} is listed in WALKS of ops/house.ts, but does not exist`);
  }
  const found = new Set<string>();
  const ahead = [...parts];
  for (let path = ahead.pop(); path !== undefined; path = ahead.pop()) {
    const text = texts.get(path);
    if (text !== undefined && !found.has(path)) {
      const folder = dirname(path);
      found.add(path);
      ahead.push(...[...text.matchAll(/ from '(\.[^']+)'/g)].map(([, name = '']) => join(folder, name)));
    }
  }
  return found;
}

function spread(values: readonly number[]): string {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
  return `${at(0.5)} / ${at(0.95)} / ${at(1)}`;
}

function grouped(value: number): string {
  return value.toLocaleString('en');
}
