import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { BENCH_COLUMNS, type BenchResult, benchCells, resultOption } from './measure/result.ts';
import { machineFacts, markdownTable } from './measure/table.ts';

/**
 * `npm run bench [-- --quick]`: all benches, one after the other, and one table of what they found in docs/benchmarks.md. With
 * `--quick` the table is only printed: short runs are for looking, not for quoting. Exit code 1 when one of them fails or misses a bound
 * of its own; what it measured stands in the table all the same.
 */
const ROOT = fileURLToPath(new URL('..', import.meta.url));
const REPORT = join(ROOT, 'docs', 'benchmarks.md');
const BENCHES = ['ledger', 'chat', 'tasks', 'reports'] as const;
const isQuick = process.argv.includes('--quick');

/** Runs one bench to its end. Undefined when it found nothing; its own output says why. */
async function runBench(name: string, folder: string): Promise<BenchResult | undefined> {
  const file = join(folder, `${name}.json`);
  const options = [resultOption(file), ...(isQuick ? ['--quick'] : [])];
  const child = spawn(process.execPath, ['--import', 'tsx', join('bench', name, 'main.ts'), ...options], {
    cwd: ROOT,
    stdio: ['ignore', process.stderr, process.stderr],
  });
  const [code] = await once(child, 'exit');
  if (code !== 0) {
    process.stderr.write(`bench:${name} ended with ${code}\n`);
    process.exitCode = 1;
  }
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as BenchResult) : undefined;
}

function report(results: ReadonlyMap<string, BenchResult>): string {
  const rows = [...results].flatMap(([name, { rows: found }]) => [
    [`**bench:${name}**`, '', '', ''],
    ...found.map(benchCells),
  ]);
  const conditions = [...results].map(([name, result]) => `- \`bench:${name}\`: ${result.conditions}`);
  return `# Benchmarks

Written by \`npm run bench\` on ${new Date().toISOString().slice(0, 10)}. ${machineFacts()}. Load, baseline, databases and service share
the machine; each baseline runs in the same session as the result it is compared with.

${conditions.join('\n')}

${markdownTable([BENCH_COLUMNS, ...rows])}
`;
}

const folder = mkdtempSync(join(tmpdir(), 'tollgate-bench-results-'));
const results = new Map<string, BenchResult>();
for (const name of BENCHES) {
  process.stderr.write(`bench:${name} …\n`);
  const result = await runBench(name, folder);
  if (result !== undefined) {
    results.set(name, result);
  }
}
rmSync(folder, { recursive: true, force: true });
const text = report(results);
process.stdout.write(text);
if (!isQuick && results.size === BENCHES.length) {
  writeFileSync(REPORT, text);
}
