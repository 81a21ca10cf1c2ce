import { startBenchPostgres } from '../measure/bench-postgres.ts';
import { percentile } from '../measure/clients.ts';
import { type BenchResult, comparedTable, publishResult } from '../measure/result.ts';
import { spreadOf, spreadText } from '../measure/spread.ts';
import { type History, writeHistory } from './history.ts';
import { startReportServer } from './server.ts';

/**
 * `npm run bench:reports [-- --quick]`: p95 of the reports over a small and a large history, and their ratio: how history slows down a
 * reader. The histories take turns, and the worst row comes first.
 */
const isQuick = process.argv.includes('--quick');
const SIZES = (process.env.BENCH_GENERATIONS ?? (isQuick ? '20000,200000' : '50000,5000000'))
  .split(',')
  .map(Number);
const ROUNDS = isQuick ? 1 : 3;
const SAMPLES = 200;
const P95_MS_MAX = 50;
const RATIO_MAX = 1.2;

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

/** A history in its own database, and the reports over it. */
interface Books {
  readonly url: string;
  readonly history: History;
  close(): Promise<void>;
}

async function openBooks(size: number): Promise<Books> {
  const postgres = await startBenchPostgres();
  try {
    const startedAt = performance.now();
    const history = await writeHistory(postgres.ownerUrl, size);
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(0);
    process.stderr.write(`  ${size} generations written in ${seconds} s\n`);
    const server = await startReportServer(postgres.url);
    return {
      url: server.url,
      history,
      close: async () => {
        await server.close();
        await postgres.stop();
      },
    };
  } catch (error) {
    await postgres.stop();
    throw error;
  }
}

async function p95({ url, history }: Books, template: string): Promise<number> {
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

/** Returns the address of a page deep in a list, reached by following pages as a client would. */
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

/** The p95 of each report in ms, by round. */
interface Measured {
  readonly name: string;
  readonly before: readonly number[];
  readonly after: readonly number[];
}

async function measure(small: Books, large: Books): Promise<Measured[]> {
  const found = REPORTS.map(([name, path]) => ({
    name,
    path,
    before: [] as number[],
    after: [] as number[],
  }));
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const { path, before, after } of found) {
      before.push(await p95(small, path));
      after.push(await p95(large, path));
    }
  }
  return found;
}

const growth = ({ before, after }: Measured) => spreadOf(after.map((ms, round) => ms / before[round]!));

function isWithin(report: Measured): boolean {
  const after = spreadOf(report.after).median;
  // below 10 ms the ratio is mostly machine noise
  return after <= P95_MS_MAX && (growth(report).median <= RATIO_MAX || after < 10);
}

function resultOf(found: readonly Measured[]): BenchResult {
  const worstFirst = [...found].sort((a, b) => growth(b).median - growth(a).median);
  const slowest = Math.max(...found.map(({ after }) => spreadOf(after).median));
  const [worst] = worstFirst;
  const counts = SIZES.map((size) => size.toLocaleString('en'));
  return {
    conditions: `A year of ${counts[1]} calls of one account; the baseline is the same over ${counts[0]}. The row that grows most comes first. Medians of ${ROUNDS} rounds of ${SAMPLES} requests, [least–most].`,
    tables: [
      comparedTable(
        worstFirst.map((report) => ({
          figure: `p95 of ${report.name}`,
          baseline: `${spreadText(spreadOf(report.before), 1)} ms`,
          tollgate: `${spreadText(spreadOf(report.after), 1)} ms`,
          compared: `${spreadText(growth(report), 2)} ×${isWithin(report) ? '' : ' ✗'}`,
        })),
      ),
    ],
    headlines: {
      reports: `Reports over ${counts[1]} calls answer within **${slowest.toFixed(1)} ms** (p95); against ${counts[0]} calls the worst of them, ${worst!.name}, takes ${spreadText(growth(worst!), 2)} × as long.`,
    },
  };
}

const books: Books[] = [];
try {
  const small = await openBooks(SIZES[0] ?? 0);
  books.push(small);
  const large = await openBooks(SIZES[1] ?? 0);
  books.push(large);
  const found = await measure(small, large);
  publishResult(resultOf(found));
  process.exitCode = found.every(isWithin) ? 0 : 1;
} finally {
  await Promise.all(books.map((opened) => opened.close()));
}
