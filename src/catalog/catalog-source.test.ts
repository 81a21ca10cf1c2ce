import { createHash } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { eventuallyHolds } from '../../test/factories/eventually.ts';
import { temporaryFolder } from '../../test/factories/temporary-folder.ts';
import { createLogger } from '../lib/logger.ts';
import { CatalogSource } from './catalog-source.ts';

const log = createLogger({ name: 'test', level: 'silent' });
const text = (price: string) => `
providers: [{ id: b, protocol: builtin }]
models: [{ id: m, endpoints: [chat], context_length: 9, max_output_tokens: 9, pricing: { prompt: "${price}" },
  routes: [{ provider: b, model: x }] }]`;

let folder: string;
let file: string;
beforeEach(async () => {
  folder = temporaryFolder('catalog');
  file = join(folder, 'tollgate.yaml');
  await writeFile(file, text('1'));
});

const open = (
  prepare: () => Promise<void> = async () => undefined,
  files: readonly string[] = [],
  variables: Record<string, string> = {},
) =>
  CatalogSource.open({
    file,
    variables,
    check: () => undefined,
    filesOf: () => files,
    prepare,
    log,
  });
const price = (source: CatalogSource) => source.current.models.get('m')?.pricing.prompt;

test('a changed file takes effect and listeners are called', async () => {
  const source = await open();
  const heard: number[] = [];
  source.onChange((catalog) => heard.push(catalog.models.size));
  await writeFile(file, text('2'));
  expect(await source.reload()).toBe(true);
  expect(price(source)).toBe(2_000_000_000_000n);
  expect(heard).toEqual([1]);
  expect(await source.reload()).toBe(false);
});

test.each([
  ['UTF-16', (content: string) => Buffer.from(`\uFEFF${content}`, 'utf16le')],
  ['Latin-1', (content: string) => Buffer.from(`# cr\u00e9dits\n${content}`, 'latin1')],
])('a file in %s is rejected with what to do', async (_, encoded) => {
  await writeFile(file, encoded(text('1')));
  await expect(open()).rejects.toThrow(`${file}: is not UTF-8 text: save it with the encoding UTF-8`);
});

test('a byte order mark before UTF-8 is not part of the text', async () => {
  await writeFile(file, `\uFEFF${text('1')}`);
  expect(price(await open())).toBe(1_000_000_000_000n);
});

test('a mistake keeps the old catalog in force', async () => {
  const source = await open();
  await writeFile(file, text('cheap'));
  expect(await source.reload()).toBe(false);
  await rm(file);
  expect(await source.reload()).toBe(false);
  expect(price(source)).toBe(1_000_000_000_000n);
});

test('a catalog whose prices could not be stored does not take effect, and is retried', async () => {
  let works = true;
  const source = await open(async () => {
    if (!works) {
      throw new Error('database away');
    }
  });
  works = false;
  await writeFile(file, text('2'));
  expect(await source.reload()).toBe(false);
  expect(price(source)).toBe(1_000_000_000_000n);
  works = true;
  expect(await source.reload()).toBe(true);
});

test('takes a new key from the file of a variable, although its own text is the same', async () => {
  const keyFile = join(folder, 'key');
  const withKey = text('1').replace('builtin', 'openai, base_url: "http://x/v1", api_key: "$' + '{UP_KEY}"');
  await Promise.all([writeFile(file, withKey), writeFile(keyFile, 'old-key\n')]);
  const source = await open(undefined, [], { UP_KEY_FILE: keyFile });
  expect(await source.reload()).toBe(false);
  await writeFile(keyFile, 'new-key\n');
  expect(await source.reload()).toBe(true);
  expect(source.current.providers).toMatchObject([{ id: 'b', api_key: 'new-key' }]);
  await rm(keyFile);
  expect(await source.reload()).toBe(false);
  expect(source.current.providers).toMatchObject([{ id: 'b', api_key: 'new-key' }]);
});

test('watches the file', async () => {
  const source = await open();
  const changed = new Promise<void>((resolve) => source.onChange(() => resolve()));
  source.watch(20);
  await writeFile(file, text('3'));
  await changed;
  await source.close();
  expect(price(source)).toBe(3_000_000_000_000n);
});

test('notices a change made before the first poll', async () => {
  const source = await open();
  await writeFile(file, text('3'));
  source.watch(20);
  await eventuallyHolds(() => expect(price(source)).toBe(3_000_000_000_000n));
  await source.close();
});

test('watches the files that its engines refer to, even one that was missing', async () => {
  const workflow = join(folder, 'workflow.json');
  const source = await open(undefined, [workflow]);
  const digests: string[] = [];
  source.onChange(({ engineFiles }) => digests.push(engineFiles[workflow] ?? ''));
  expect(await source.reload()).toBe(false);
  source.watch(20);
  for (const content of ['{}', '{"6":{}}']) {
    await writeFile(workflow, content);
    const digest = createHash('sha256').update(content).digest('hex');
    await eventuallyHolds(() => expect(digests).toContain(digest));
  }
  await source.close();
});

test('reports a missing file in one clear line', async () => {
  await rm(file);
  await expect(open()).rejects.toThrow(`${file}: cannot be read (ENOENT)`);
});
