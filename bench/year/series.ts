import { type Series, TARGET } from './extrapolate.ts';
import type { Closing, FullProof, NightProof } from './measure-books.ts';
import type { Relation } from './measure-bytes.ts';
import type { Archiving, Backup, Packing } from './measure-operations.ts';
import type { Year } from './write-year.ts';

/** All measurements at one size. */
export interface Measured {
  readonly year: Year;
  readonly writeSeconds: number;
  readonly vacuumSeconds: number;
  readonly vacuumAgainSeconds: number;
  /** Before the last month was closed. */
  readonly relations: readonly Relation[];
  readonly full: FullProof;
  readonly night: NightProof;
  /** After a quarter of a year without a proof. */
  readonly quarter: NightProof;
  readonly reports: ReadonlyMap<string, number>;
  readonly closing: Closing;
  readonly packing: Packing;
  /** With every month closed and packed. */
  readonly packed: readonly Relation[];
  readonly archiving: Archiving;
  readonly backup: Backup;
}

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const NIGHT = { value: 8 * HOUR, why: 'a night of 8 h' };
const STATEMENT_OF_PROOF = {
  value: 300,
  why: 'a statement of a proof has 300 s; beyond, `ledger verify --each` proves account by account',
};
const STATEMENT_OF_ARCHIVE = { value: 12 * HOUR, why: 'a statement of an archive has 12 h' };
const REPORT = { value: 50, why: 'bound of bench:reports' };
const MILLION = 1_000_000;
const MONTHS = 12;
const DAYS = 365;

type Value = (measured: Measured) => number;
type Rest = Omit<Series, 'name' | 'points'>;

/** Returns the figures of a run, each over its sizes. */
export function seriesOf(runs: readonly Measured[]): readonly Series[] {
  const calls: Value = ({ year }) => year.calls;
  const series = (name: string, count: Value, value: Value, rest: Rest): Series => ({
    ...{ name, ...rest },
    points: runs.map((run) => ({ count: count(run), value: value(run) })),
  });
  const ofCalls = { of: 'calls', target: TARGET.calls };
  const ofMonth = { of: 'calls of the month', target: TARGET.calls / MONTHS };
  const ofEntries = { of: 'entries of the month', target: TARGET.calls / MONTHS };
  const monthCalls: Value = ({ year }) => year.firstMonthCalls;
  const dueEntries: Value = ({ year }) => year.dueEntries;
  const reports = [...(runs[0]?.reports.keys() ?? [])];
  return [
    series('bytes of the database', calls, bytesOf, { unit: 'bytes', ...ofCalls }),
    series('proof of all history', calls, ({ full }) => full.seconds, {
      unit: 's',
      ...ofCalls,
      limit: NIGHT,
    }),
    series('longest statement of that proof', calls, ({ full }) => full.longestSeconds, {
      unit: 's',
      ...ofCalls,
      limit: STATEMENT_OF_PROOF,
    }),
    series(
      'nightly proof, with a day that is new',
      ({ night }) => night.entries,
      ({ night }) => night.seconds,
      { unit: 's', of: 'new entries', target: TARGET.calls / DAYS, limit: { value: HOUR, why: 'an hour' } },
    ),
    series(
      'the same, with a quarter of a year that is new; the target is a million entries',
      ({ quarter }) => quarter.entries,
      ({ quarter }) => quarter.seconds,
      { unit: 's', of: 'new entries', target: MILLION, limit: { value: MINUTE, why: 'a minute' } },
    ),
    series('closing a month, one account poisoned', dueEntries, ({ closing }) => closing.seconds, {
      unit: 's',
      ...ofEntries,
      limit: { value: 24 * HOUR, why: 'the first day of the month' },
    }),
    series(
      'longest wait of a call, nothing closing',
      ({ year }) => year.largest.dueEntries,
      (run) => run.closing.quietWaitMs,
      { unit: 'ms', of: 'entries of the largest account' },
    ),
    series(
      'longest wait of a call while its account and all others close',
      ({ year }) => year.largest.dueEntries,
      (run) => run.closing.waitMs,
      {
        unit: 'ms',
        of: 'entries of the largest account',
        limit: { value: 100, why: 'closing must not be felt' },
      },
    ),
    ...reports.map((name) =>
      series(`report, p95: ${name}`, calls, (run) => run.reports.get(name) ?? 0, {
        unit: 'ms',
        of: 'calls',
        limit: REPORT,
      }),
    ),
    series('a month: calls, entries, roll-ups', monthCalls, ({ packing }) => packing.bytesBefore, {
      unit: 'bytes',
      ...ofMonth,
    }),
    series('the same, packed', monthCalls, ({ packing }) => packing.bytesAfter, {
      unit: 'bytes',
      ...ofMonth,
    }),
    series('packing it', monthCalls, ({ packing }) => packing.seconds, {
      unit: 's',
      ...ofMonth,
      limit: NIGHT,
    }),
    series('export of a month', monthCalls, ({ archiving }) => archiving.exportSeconds, {
      unit: 's',
      ...ofMonth,
      limit: STATEMENT_OF_ARCHIVE,
    }),
    series('file of the month', monthCalls, ({ archiving }) => archiving.bytes, {
      unit: 'bytes',
      ...ofMonth,
    }),
    series('drop of the month', monthCalls, ({ archiving }) => archiving.dropSeconds, {
      unit: 's',
      ...ofMonth,
    }),
    series('restore of the month', monthCalls, ({ archiving }) => archiving.restoreSeconds, {
      unit: 's',
      ...ofMonth,
      limit: STATEMENT_OF_ARCHIVE,
    }),
    series(
      'proof of all history, a month archived',
      calls,
      ({ archiving }) => archiving.proofWithoutSeconds,
      { unit: 's', ...ofCalls, limit: NIGHT },
    ),
    series('backup.sh', calls, ({ backup }) => backup.backupSeconds, { unit: 's', ...ofCalls, limit: NIGHT }),
    series('dump of backup.sh', calls, ({ backup }) => backup.bytes, { unit: 'bytes', ...ofCalls }),
    series('restore.sh', calls, ({ backup }) => backup.restoreSeconds, {
      unit: 's',
      ...ofCalls,
      limit: NIGHT,
    }),
    series('first vacuum of all of it', calls, ({ vacuumSeconds }) => vacuumSeconds, {
      unit: 's',
      ...ofCalls,
      limit: NIGHT,
    }),
    series('vacuum when nothing changed', calls, ({ vacuumAgainSeconds }) => vacuumAgainSeconds, {
      unit: 's',
      ...ofCalls,
    }),
  ];
}

/** Returns the tables and indexes with their bytes, each over the sizes of the run. */
export function bytesByRelation(
  runs: readonly Measured[],
  relationsOf: (run: Measured) => readonly Relation[],
): readonly (Series & Pick<Relation, 'table' | 'index'>)[] {
  const newest = runs.at(-1);
  const all = newest ? relationsOf(newest) : [];
  return all.map(({ table, index }) => ({
    ...{ table, index, name: index ?? table, unit: 'bytes' as const, of: 'calls', target: TARGET.calls },
    points: runs.map((run) => ({
      count: run.year.calls,
      value: relationsOf(run).find((found) => found.table === table && found.index === index)?.bytes ?? 0,
    })),
  }));
}

function bytesOf({ relations }: Measured): number {
  return relations.reduce((sum, { bytes }) => sum + bytes, 0);
}
