import { startBenchPostgres } from '../measure/bench-postgres.ts';
import { percentile } from '../measure/clients.ts';
import { type BenchRow, publishResult } from '../measure/result.ts';
import { type History, writeHistory } from './history.ts';
import { startReportServer } from './server.ts';

/** p95 of the reports over a small and a large history, and the ratio of the two: what history costs a reader. */
const isQuick = process.argv.includes('--quick');
const SIZES = (process.env.BENCH_GENERATIONS ?? (isQuick ? '20000,200000' : '50000,5000000'))
  .split(',')
  .map(Number);
const SAMPLES = 200;
const P95_MS_MAX = 50;
const RATIO_MAX = 1.5;

const REPORTS: readonly [string, string][] = [
  ['credits', '/api/v1/credits'],
  ['usage day, 30 days', '/api/v1/usage'],
  ['usage hour', '/api/v1/usage?granularity=hour'],
  ['usage 5m', '/api/v1/usage?granularity=5m'],
  ['usage day, a year', '/api/v1/usage?start_time=YEAR&limit=1000'],
  ['activity, 30 days', '/api/v1/activity'],
  ['activity, a year', '/api/v1/activity?start_time=YEAR&limit=1000'],
  ['costs, 30 days', '/api/v1/costs'],
  ['costs by hour, 31 days', '/api/v1/costs?granularity=hour&start_time=MONTH&limit=1000'],
  ['usage by hour, 31 days', '/api/v1/usage?granularity=hour&start_time=MONTH&limit=1000'],
  ['costs by model, a year', '/api/v1/costs?start_time=YEAR&group_by=model&limit=1000'],
  ['transactions, page 1', '/api/v1/billing/balance-transactions'],
  ['transactions, page 1,000 of 50', 'PAGE:1000:/api/v1/billing/balance-transactions?limit=50'],
  ['transactions by key', '/api/v1/billing/balance-transactions?api_key_hash=HASH'],
  ['transactions, no usage', '/api/v1/billing/balance-transactions?type=adjustment'],
  ['invoices', '/api/v1/billing/invoices?limit=1'],
];

async function measure(size: number): Promise<Map<string, number>> {
  const postgres = await startBenchPostgres();
  try {
    const startedAt = performance.now();
    const history = await writeHistory(postgres.ownerUrl, size);
    console.log(`${size} generations written in ${((performance.now() - startedAt) / 1000).toFixed(0)} s`);
    const server = await startReportServer(postgres.url);
    const results = new Map<string, number>();
    for (const [name, path] of REPORTS) {
      results.set(name, await p95(server.url, history, path));
    }
    await server.close();
    return results;
  } finally {
    await postgres.stop();
  }
}

async function p95(url: string, history: History, template: string): Promise<number> {
  const day = 86_400_000;
  const ago = (days: number) => new Date((Math.floor(Date.now() / day) - days) * day).toISOString();
  const headers = { authorization: `Bearer ${history.secret}` };
  let path = template.replace('YEAR', ago(364)).replace('MONTH', ago(30)).replace('HASH', history.keyHash);
  const page = /^PAGE:(\d+):(.*)$/.exec(path);
  if (page) {
    path = await walkTo(url, headers, page[2] ?? '', Number(page[1]));
  }
  const latencies: number[] = [];
  for (let index = 0; index < SAMPLES + 10; index += 1) {
    const startedAt = performance.now();
    const response = await fetch(url + path, { headers });
    await response.arrayBuffer();
    if (response.status !== 200) {
      throw new Error(`${path}: ${response.status}`);
    }
    if (index >= 10) {
      latencies.push(performance.now() - startedAt);
    }
  }
  return percentile(
    latencies.sort((a, b) => a - b),
    0.95,
  );
}

/** The address of a page deep in a list, reached as a client would. */
async function walkTo(
  url: string,
  headers: Record<string, string>,
  path: string,
  pages: number,
): Promise<string> {
  let next = path;
  for (let page = 1; page < pages; page += 1) {
    const response = await fetch(url + next, { headers });
    await response.arrayBuffer();
    next = /^<(.+)>; rel="next"$/.exec(response.headers.get('link') ?? '')?.[1] ?? next;
  }
  return next;
}

const [small, large] = [await measure(SIZES[0] ?? 0), await measure(SIZES[1] ?? 0)];
let isWithin = true;
const rows: BenchRow[] = [];
for (const [name] of REPORTS) {
  const [before, after] = [small.get(name) ?? 0, large.get(name) ?? 0];
  // below a few ms the ratio is noise of the machine
  const isGood = after <= P95_MS_MAX && (after <= before * RATIO_MAX || after < 10);
  isWithin &&= isGood;
  rows.push({
    figure: `p95 of ${name}`,
    baseline: `${before.toFixed(1)} ms`,
    tollgate: `${after.toFixed(1)} ms`,
    compared: `${(after / before).toFixed(2)} ×${isGood ? '' : ' ✗'}`,
  });
}
const counts = SIZES.map((size) => size.toLocaleString('en'));
publishResult({
  conditions: `A year of ${counts[1]} calls of one account; the baseline is the same over ${counts[0]}.`,
  rows,
});
process.exitCode = isWithin ? 0 : 1;
