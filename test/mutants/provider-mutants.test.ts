import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { build, type Plugin } from 'esbuild';
import { readRows } from '../replay/row.ts';
import { PROVIDER_MUTANTS, type ProviderMutant } from './provider-mutants.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Bundles the program that plays rows, with the mutant in it. */
async function bundled(mutant: ProviderMutant | undefined): Promise<string> {
  const mutate: Plugin = {
    name: 'mutate',
    setup({ onLoad }) {
      onLoad({ filter: /\.ts$/ }, async ({ path }) => {
        const source = await readFile(path, 'utf8');
        if (!mutant || path !== join(ROOT, mutant.of)) {
          return { contents: source, loader: 'ts' };
        }
        // a mutant that changes nothing would never be caught
        expect(source).toContain(mutant.replace);
        return { contents: source.replace(mutant.replace, mutant.by), loader: 'ts' };
      });
    },
  };
  const { outputFiles } = await build({
    entryPoints: [join(ROOT, 'test/mutants/play-rows.ts')],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'node',
    packages: 'external',
    plugins: [mutate],
  });
  return outputFiles[0]!.text;
}

/** Returns the names of the rows that fail, out of `names`. */
async function failing(program: string, names: readonly string[]): Promise<string[]> {
  const rows = readRows().filter(({ name }) => names.includes(name));
  expect(new Set(rows.map(({ name }) => name)).size).toBe(names.length);
  // a program read from stdin resolves packages from its working directory
  const child = spawn(process.execPath, ['--input-type=module', '-', JSON.stringify(rows)], {
    cwd: ROOT,
    stdio: ['pipe', 'pipe', 'inherit'],
    timeout: 20_000,
  });
  child.stdin.end(program);
  return JSON.parse(await text(child.stdout));
}

test('passes the rows that catch mutants without a mutant', async () => {
  const names = [...new Set(PROVIDER_MUTANTS.map(({ caughtBy }) => caughtBy))];
  expect(await failing(await bundled(undefined), names)).toEqual([]);
});

test.each(PROVIDER_MUTANTS.map((mutant) => [mutant.name, mutant] as const))(
  'catches: %s',
  async (_, mutant) => {
    expect(await failing(await bundled(mutant), [mutant.caughtBy])).toContain(mutant.caughtBy);
  },
);
