import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { consoleTypes } from '../../ops/console-types.ts';
import { documentOf } from '../../ops/openapi-routes.ts';
import { builtConsole, ROOT } from './console-server.ts';

/** What a browser has to load, in bytes after gzip, and what must be in none of it. */

const KB = 1_000;
let built: { folder: string; remove(): Promise<void> };
let files: Map<string, Buffer>;
beforeAll(async () => {
  built = await builtConsole();
  const folder = join(built.folder, 'assets');
  const names = readdirSync(folder).filter((name) => !/\.(br|gz)$/.test(name));
  files = new Map(names.map((name) => [name, readFileSync(join(folder, name))]));
});
afterAll(() => built?.remove());

const page = () => readFileSync(join(built.folder, 'index.html'), 'utf8');
const weight = (names: readonly string[]) =>
  names.reduce(
    (sum, name) =>
      sum + (/woff2$/.test(name) ? files.get(name)!.length : gzipSync(files.get(name)!, { level: 9 }).length),
    0,
  );
const named = (pattern: RegExp) => [...files.keys()].filter((name) => pattern.test(name));
const first = () => [...page().matchAll(/assets\/([\w-]+\.js)/g)].map(([, name = '']) => name);

test('the first load is small, and so is everything', () => {
  expect(first().length).toBeGreaterThan(0);
  expect(weight(first())).toBeLessThan(70 * KB);
  expect(weight(named(/\.css$/))).toBeLessThan(14 * KB);
  expect(weight(named(/woff2$/))).toBeLessThan(64 * KB);
  for (const name of named(/\.js$/).filter((file) => !first().includes(file))) {
    expect([name, weight([name]) < 40 * KB]).toEqual([name, true]);
  }
  expect(weight([...files.keys()])).toBeLessThan(400 * KB);
});

test('no file names another host, and the page has nothing inline', () => {
  for (const [name, content] of files) {
    const hosts = content.toString('latin1').match(/https?:\/\/[\w.-]+/g) ?? [];
    // the names of XML vocabularies are no addresses; a library names its home in the text of an error
    const foreign = hosts.filter((host) => !/^(http:\/\/www\.w3\.org|https:\/\/github\.com)$/.test(host));
    expect([name, /woff2$/.test(name) ? [] : foreign]).toEqual([name, []]);
  }
  expect(page()).not.toMatch(/<style|style=|<script(?![^>]*src=)|\son\w+=/);
});

test('the types of the console are those of the API: run "npm run generate"', () => {
  const kept = readFileSync(join(ROOT, 'console', 'api', 'types.gen.ts'), 'utf8');
  expect(kept).toBe(consoleTypes(documentOf()));
});
