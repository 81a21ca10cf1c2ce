import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ownTemporaryFolder } from '../test/factories/temporary-folder.ts';
import { type BenchResult, resultOption, resultText } from './measure/result.ts';
import { withHeadlines, withSection } from './report/documents.ts';
import { chosenParts, type Part, QUOTED_NODE, sectionTitle } from './report/parts.ts';

/**
 * `npm run bench [-- part …] [-- --quick]`: runs benches one after the other and writes each result into its section of docs/benchmarks.md,
 * and into the sentences that other documents quote. Without names, runs all but the long ones. `--quick` writes nothing: short runs are
 * for a quick look, not for figures to quote. On a Node newer than the oldest supported one, it writes separate sections and updates no
 * quotes. Exit code 1 when a bench fails or misses one of its own bounds; its results are still written.
 *
 * `npm run bench -- --gate [--short | --update]`: see gate/main.ts.
 */
const ROOT = fileURLToPath(new URL('..', import.meta.url));
const REPORT = join(ROOT, 'docs', 'benchmarks.md');
/** Documents that quote the benches. A quoting line ends with the name of its headline. */
const QUOTING = ['README.md', 'docs/comparison.md', 'docs/sizing.md'].map((path) => join(ROOT, path));
const isQuick = process.argv.includes('--quick');
const [nodeMajor = ''] = process.versions.node.split('.');

async function runScript(script: string, options: readonly string[]): Promise<number> {
  const child = spawn(process.execPath, ['--import', 'tsx', join('bench', script), ...options], {
    cwd: ROOT,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const [code] = await once(child, 'exit');
  return code ?? 1;
}

/** Runs one part. Returns undefined when it has no result; its own output says why. */
async function runPart({ name, script, options }: Part, folder: string): Promise<BenchResult | undefined> {
  const file = join(folder, `${name}.json`);
  process.stderr.write(`${name} …\n`);
  const code = await runScript(script, [...options, resultOption(file), ...(isQuick ? ['--quick'] : [])]);
  if (code !== 0) {
    process.stderr.write(`${name} ended with ${code}\n`);
    process.exitCode = 1;
  }
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as BenchResult) : undefined;
}

function change(file: string, edit: (text: string) => string): void {
  writeFileSync(file, edit(readFileSync(file, 'utf8')));
}

async function runAll(parts: readonly Part[]): Promise<void> {
  const folder = ownTemporaryFolder('bench-results');
  for (const part of parts) {
    const result = await runPart(part, folder);
    if (result !== undefined && !isQuick) {
      const dated = `Run on ${new Date().toISOString().slice(0, 10)}. ${resultText(result)}`;
      change(REPORT, (text) => withSection(text, sectionTitle(part, nodeMajor), dated));
      for (const file of nodeMajor === QUOTED_NODE ? QUOTING : []) {
        change(file, (text) => withHeadlines(text, result.headlines));
      }
    }
  }
  rmSync(folder, { recursive: true, force: true });
}

if (process.argv.includes('--gate')) {
  process.exitCode = await runScript('gate/main.ts', process.argv.slice(2));
} else {
  const parts = chosenParts(process.argv.slice(2).filter((argument) => !argument.startsWith('--')));
  await runAll(parts);
}
