import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { build, type Plugin } from 'esbuild';
import { readRows } from '../replay/row.ts';
import { PROVIDER_MUTANTS, type ProviderMutant } from './provider-mutants.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const ROWS = readRows();

/** Edits the source of a mutant while it is bundled. */
function mutate({ of: file, replace, by }: ProviderMutant): Plugin {
  return {
    name: 'mutate',
    setup({ onLoad }) {
      onLoad({ filter: new RegExp(`/${file.replaceAll('.', '\\.')}$`) }, async ({ path }) => {
        const source = await readFile(path, 'utf8');
        // a mutant that changes nothing would never be caught
        expect(source).toContain(replace);
        return { contents: source.replace(replace, by), loader: 'ts' };
      });
    },
  };
}

/** Bundles the program that plays rows, with the mutant in it. */
async function bundled(mutant: ProviderMutant | undefined): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(ROOT, 'test/mutants/play-rows.ts')],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'node',
    packages: 'external',
    plugins: mutant ? [mutate(mutant)] : [],
  });
  return outputFiles[0]!.text;
}

/** Returns the names of the rows that fail, out of `names`. */
async function failing(program: string, names: readonly string[]): Promise<string[]> {
  const rows = ROWS.filter(({ name }) => names.includes(name));
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
