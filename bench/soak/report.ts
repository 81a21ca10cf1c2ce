import { percentile } from '../measure/clients.ts';
import { machineFacts, markdownTable } from '../measure/table.ts';
import type { Readings } from './probes.ts';
import { type Point, trendOf } from './slope.ts';

export interface Sample {
  readonly seconds: number;
  readonly calls: number;
  readonly readings: Readings;
  /** Latencies of the chats since the last sample, in ms. */
  readonly chatMs: readonly number[];
}

/** The result of a run. */
export interface SoakRun {
  readonly minutes: number;
  readonly perSecond: number;
  readonly capacity: number;
  readonly skipped: number;
  readonly base: Readings;
  readonly samples: readonly Sample[];
  readonly after: Readings;
  readonly statuses: Readonly<Record<string, number>>;
}

type Unit = 'bytes' | 'count' | 'ms';

interface Row {
  readonly what: string;
  readonly unit: Unit;
  readonly points: (run: SoakRun) => Point[];
  /** Growth over half a run that does not count as growth, in the unit. */
  readonly insignificant: number;
  /** Why this may grow during a run, and where it ends. Undefined when growth is a failure. */
  readonly mayGrow?: string;
}

const MEGABYTE = 1e6;
const DAYS = 30;

const KEPT = 'kept on purpose: history and money';
const WRITTEN = 'written, not kept';
const ROWS: readonly Row[] = [
  reading('API heap after a full collection', 'api heap', 'bytes', 2 * MEGABYTE),
  reading('worker heap after a full collection', 'worker heap', 'bytes', 2 * MEGABYTE),
  reading('API memory outside the heap', 'api external', 'bytes', 4 * MEGABYTE),
  reading('worker memory outside the heap', 'worker external', 'bytes', 4 * MEGABYTE),
  reading('API RSS', 'api rss', 'bytes', 25 * MEGABYTE),
  reading('worker RSS', 'worker rss', 'bytes', 25 * MEGABYTE),
  perCall('API processor time per call', 'api cpu ms', 0.3),
  perCall('worker processor time per call', 'worker cpu ms', 1),
  perCall('Redis processor time per call', 'redis cpu ms', 0.1),
  reading('event loop p99', 'loop p99 ms', 'ms', 30),
  chat('chat p50', 0.5, 50),
  chat('chat p99', 0.99, 400),
  reading('API file descriptors', 'api fds', 'count', 20),
  reading('worker file descriptors', 'worker fds', 'count', 10),
  reading('Postgres connections', 'pg connections', 'count', 4),
  reading('open holds', 'open holds', 'count', 20),
  reading('Postgres rollbacks', 'pg rollbacks', 'count', 5),
  reading('Postgres deadlocks', 'pg deadlocks', 'count', 0),
  reading('Postgres temporary files', 'pg temp files', 'count', 0),
  reading('metrics series of the API', 'metrics series', 'count', 40),
  reading('temporary files', 'temporary files', 'count', 5),
  reading('table holds', 'table holds', 'bytes', MEGABYTE),
  reading('table balances', 'table balances', 'bytes', 0.5 * MEGABYTE),
  reading('table worker_slots', 'table worker_slots', 'bytes', 0.5 * MEGABYTE),
  reading('table generations', 'table generations', 'bytes', 0, KEPT),
  reading('table ledger_entries', 'table ledger_entries', 'bytes', 0, KEPT),
  reading('table usage_rollups', 'table usage_rollups', 'bytes', 0, KEPT),
  reading('table checkout_sessions', 'table checkout_sessions', 'bytes', 0, KEPT),
  reading('rows of api_keys', 'api_keys rows', 'count', 0, KEPT),
  reading('WAL written', 'wal bytes', 'bytes', 0, WRITTEN),
  reading('table idempotency_keys', 'table idempotency_keys', 'bytes', 0, 'plateau after 24 h'),
  reading('table tasks', 'table tasks', 'bytes', 0, 'plateau after 30 days'),
  reading('table webhook_deliveries', 'table webhook_deliveries', 'bytes', 0, 'plateau after 30 days'),
  reading('media files', 'media files', 'count', 0, 'plateau after a day'),
  reading('media', 'media bytes', 'bytes', 0, 'plateau after a day'),
  reading('Redis memory', 'redis memory', 'bytes', 0, 'plateau: 1,000 jobs or an hour per queue'),
  reading('Redis keys', 'redis keys', 'count', 0, 'plateau: 1,000 jobs or an hour per queue'),
  reading('Redis append-only file', 'redis append-only file', 'bytes', 0, 'rewritten from 64 MB on'),
  reading('API log', 'api log bytes', 'bytes', 0, 'rotated by what runs the process'),
  reading('worker log', 'worker log bytes', 'bytes', 0, 'rotated by what runs the process'),
];

export interface SoakReport {
  readonly markdown: string;
  /** Rows that grow but must not. */
  readonly failures: readonly string[];
}

/** Returns the table of a run, with its projection to 30 days and a verdict for each row. */
export function reportOf(run: SoakRun, owners: readonly string[], promptsKept: number): SoakReport {
  const callsPerMonth = (callsOf(run) / run.minutes / 60) * 86_400 * DAYS;
  const failures: string[] = [];
  const body = ROWS.map((row) => {
    const points = row.points(run);
    const { start, end, perThousand, grows } = trendOf(points, row.insignificant);
    const month = (perThousand / 1_000) * callsPerMonth;
    let verdict = 'flat';
    if (grows) {
      verdict = row.mayGrow ?? '**grows**';
      if (row.mayGrow === undefined) {
        failures.push(row.what);
      }
    }
    const isUnbounded = row.mayGrow === undefined || row.mayGrow === KEPT || row.mayGrow === WRITTEN;
    const show = (value: number) => shown(value, row.unit);
    return [
      row.what,
      show(start),
      show(end),
      grows ? show(perThousand) : '0',
      grows && isUnbounded ? show(month) : '–',
      verdict,
    ];
  });
  const returned = (['api', 'worker'] as const).map((name) => {
    const [base, after] = [run.base[`${name} rss`] ?? 0, run.after[`${name} rss`] ?? 0];
    const isBack = after <= base * 1.2;
    if (!isBack) {
      failures.push(`${name} RSS after the traffic`);
    }
    return [
      `RSS of the ${name}, idle`,
      shown(base, 'bytes'),
      shown(after, 'bytes'),
      '',
      '',
      isBack ? 'returned' : '**did not return within 20 %**',
    ];
  });
  if (promptsKept > 0) {
    failures.push('prompts in memory');
  }
  const kept = [
    'prompts in the heaps, idle',
    '',
    shown(promptsKept, 'count'),
    '',
    '',
    promptsKept === 0 ? 'none' : '**kept**',
  ];
  const head = ['what', 'start', 'end', 'per 1,000 calls', `${DAYS} days`, 'verdict'];
  const answers = Object.entries(run.statuses).map(
    ([status, count]) => `${status === '0' ? 'broken off' : status}: ${count}`,
  );
  const markdown = `# Soak

\`npm run soak\` wrote this: ${run.minutes} minutes of mixed traffic, ${callsOf(run).toLocaleString('en')} calls at ${run.perSecond.toFixed(0)}/s, 65 % of
the ${run.capacity.toFixed(0)}/s that the machine carried just before. ${machineFacts()}, shared by load, databases and service.
Answers: ${answers.join(', ')}.

${markdownTable([head, ...body, ...returned, kept])}

What holds the heap, by the nearest named object on the shortest way from the roots, at the start and at the end:

${owners.join('\n\n')}
`;
  return { markdown, failures };
}

/** Returns a table of the largest owners of two heaps, side by side. */
export function ownersTable(
  name: string,
  start: ReadonlyMap<string, number>,
  end: ReadonlyMap<string, number>,
): string {
  const names = [...new Set([...start.keys(), ...end.keys()])];
  const growth = (owner: string) => (end.get(owner) ?? 0) - (start.get(owner) ?? 0);
  const largest = [...names].sort((a, b) => (end.get(b) ?? 0) - (end.get(a) ?? 0)).slice(0, 8);
  const grown = names.filter((owner) => growth(owner) > 0.2 * MEGABYTE);
  const rows = [...new Set([...largest, ...grown])].map((owner) => [
    owner.replace(/\|/g, '\\|'),
    shown(start.get(owner) ?? 0, 'bytes'),
    shown(end.get(owner) ?? 0, 'bytes'),
  ]);
  return markdownTable([[name, 'start', 'end'], ...rows]);
}

function callsOf({ samples }: SoakRun): number {
  return samples.at(-1)?.calls ?? 0;
}

function reading(what: string, key: string, unit: Unit, insignificant: number, mayGrow?: string): Row {
  const points = ({ samples }: SoakRun) =>
    samples.flatMap(({ calls, readings }) => {
      const value = readings[key];
      return value === undefined ? [] : [{ calls, value }];
    });
  return { what, unit, insignificant, points, ...(mayGrow !== undefined && { mayGrow }) };
}

function perCall(what: string, key: string, insignificant: number): Row {
  const points = ({ samples }: SoakRun) =>
    samples.slice(1).flatMap(({ calls, readings }, index) => {
      const before = samples[index];
      const made = calls - (before?.calls ?? 0);
      return made > 0 ? [{ calls, value: ((readings[key] ?? 0) - (before?.readings[key] ?? 0)) / made }] : [];
    });
  return { what, unit: 'ms', insignificant, points };
}

function chat(what: string, share: number, insignificant: number): Row {
  const points = ({ samples }: SoakRun) =>
    samples.flatMap(({ calls, chatMs }) => {
      const sorted = [...chatMs].sort((a, b) => a - b);
      return sorted.length === 0 ? [] : [{ calls, value: percentile(sorted, share) }];
    });
  return { what, unit: 'ms', insignificant, points };
}

function shown(value: number, unit: Unit): string {
  if (unit === 'ms') {
    return `${value.toFixed(value < 10 ? 2 : 0)} ms`;
  }
  if (unit === 'count') {
    return value.toLocaleString('en', { maximumFractionDigits: value < 10 ? 1 : 0 });
  }
  const size = Math.abs(value);
  if (size >= 1e9) {
    return `${(value / 1e9).toFixed(1)} GB`;
  }
  return size >= 1e5 ? `${(value / 1e6).toFixed(size >= 1e7 ? 0 : 1)} MB` : `${(value / 1e3).toFixed(1)} kB`;
}
