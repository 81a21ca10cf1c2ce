import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createDatabase } from '../../src/store/database.ts';
import { closeMonth, proveAll, proveNight, proveQuarter } from './measure-books.ts';
import { measureBytes } from './measure-bytes.ts';
import {
  archiveMonth,
  backUpAndRestore,
  measureReports,
  packMonth,
  packOtherMonths,
  vacuum,
} from './measure-operations.ts';
import { yearPage } from './report.ts';
import type { Measured } from './series.ts';
import { seconds } from './stopwatch.ts';
import { writeYear, type YearShape } from './write-year.ts';
import { startYearPostgres, type YearPostgres } from './year-postgres.ts';

/**
 * `npm run bench:year [-- --quick] [-- --accounts 2000] [-- --calls 125000,250000,500000]`: writes a year in several sizes and measures
 * what its books and its operation cost, and what that would be at 50,000 accounts and 500 million calls. Writes docs/year.md unless
 * `--quick` or other sizes are given.
 */
const PAGE = fileURLToPath(new URL('../../docs/year.md', import.meta.url));
const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    accounts: { type: 'string' },
    calls: { type: 'string' },
  },
});
const ACCOUNTS = Number(options.accounts ?? (options.quick ? 200 : 2_000));
const SIZES = (options.calls ?? (options.quick ? '30000,60000' : '125000,250000,500000'))
  .split(',')
  .map(Number);
const isWritten = !options.quick && options.accounts === undefined && options.calls === undefined;

async function measure(postgres: YearPostgres, shape: YearShape): Promise<Measured> {
  const startedAt = performance.now();
  const note = (what: string) =>
    process.stderr.write(
      `${shape.calls.toLocaleString('en')} calls, ${((performance.now() - startedAt) / 1_000).toFixed(0)} s: ${what}\n`,
    );
  const database = createDatabase(
    { url: postgres.url, moneyConnections: 6, connections: 2 },
    () => undefined,
  );
  try {
    const [year, writeSeconds] = await seconds(() => writeYear(postgres, database, shape, note));
    const vacuumSeconds = await vacuum(postgres.ownerUrl);
    const vacuumAgainSeconds = await vacuum(postgres.ownerUrl);
    const relations = await measureBytes(postgres.ownerUrl);
    note('vacuumed');
    const full = await proveAll(database);
    note('proven');
    const night = await proveNight(database, year);
    const quarter = await proveQuarter(database, year);
    note('proven as every night, and after a quarter without proofs');
    const reports = await measureReports(postgres.url, year);
    note('reported');
    const closing = await closeMonth(postgres, database, year);
    note('closed');
    const packing = await packMonth(postgres.ownerUrl, year);
    await packOtherMonths(postgres.ownerUrl);
    const packed = await measureBytes(postgres.ownerUrl);
    note('packed');
    const archiving = await archiveMonth(postgres, database, year);
    note('archived and restored');
    const backup = await backUpAndRestore(postgres);
    note('backed up and restored');
    return {
      ...{ year, writeSeconds, vacuumSeconds, vacuumAgainSeconds, relations, full, night, quarter, reports },
      ...{ closing, packing, packed, archiving, backup },
    };
  } finally {
    await database.close();
  }
}

const runs: Measured[] = [];
let version = '';
for (const calls of SIZES) {
  const postgres = await startYearPostgres();
  version = postgres.version;
  try {
    runs.push(await measure(postgres, { accounts: ACCOUNTS, calls }));
  } finally {
    await postgres.stop();
  }
}
const page = yearPage(runs, { postgresVersion: version, options: process.argv.slice(2) });
process.stdout.write(page);
if (isWritten) {
  writeFileSync(PAGE, page);
}
