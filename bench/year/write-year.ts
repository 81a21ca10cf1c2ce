import pg from 'pg';
import { newSecret, secretHash } from '../../src/keys/secret.ts';
import { recordCheck } from '../../src/ledger/ledger-checks.sql.ts';
import { placeProofs } from '../../src/ledger/nightly-proof.sql.ts';
import { sealEntries } from '../../src/ledger/seal-entries.ts';
import { queryProof } from '../../src/ledger/walk-entries.ts';
import { forEachIsolated } from '../../src/lib/for-each-isolated.ts';
import type { Database } from '../../src/store/database.ts';
import { run } from '../../src/store/statement.ts';
import type { YearPostgres } from './year-postgres.ts';
import {
  inventAccounts,
  inventCalls,
  inventEntries,
  openAccounts,
  WRITE_ROWS,
  writeDays,
  writeDocuments,
  writeState,
  writeStatements,
} from './year-sql.ts';

const MONTHS = 12;
const DAY_MS = 86_400_000;
const FIVE_MINUTES_MS = 300_000;
/** Age of the newest call: older than what a nightly proof leaves to the next one. */
const SETTLED_MS = 15 * 60_000;
const DAY_OF_YEAR = 1 / 365;
const ACCOUNTS_PER_PAGE = 200;

export interface YearShape {
  readonly accounts: number;
  /** Calls of all accounts in twelve months. One more day is written for the nightly proof. */
  readonly calls: number;
}

/** The year as written. */
export interface Year {
  readonly shape: YearShape;
  /** All calls, including those of the extra day. */
  readonly calls: number;
  /** Entries of the extra day, which no proof has seen. */
  readonly newEntries: number;
  /** The oldest month, and its number of calls. */
  readonly firstMonth: Date;
  readonly firstMonthCalls: number;
  /** Entries of the past month that is not closed yet. */
  readonly dueEntries: number;
  /** The account with the most calls. */
  readonly largest: {
    readonly accountId: string;
    readonly apiKeyId: string;
    readonly secret: string;
    readonly keyHash: string;
    /** Entries of the past month. */
    readonly dueEntries: number;
  };
  /** Another account of medium size, whose balance is locked while the month closes. */
  readonly poisoned: string;
}

/**
 * Writes twelve months of calls of many accounts, the first with the most, and one more day: calls, entries, seals, roll-ups, balances,
 * proofs and the statements of eleven months, as settlements and maintenance would have written them. Rows are written in order of time, so
 * that indexes are as full as in production. `ownerUrl` writes; the application role seals and fills.
 */
export async function writeYear(
  postgres: YearPostgres,
  database: Database,
  shape: YearShape,
  note: (what: string) => void,
): Promise<Year> {
  const thisMonth = monthOf(new Date(), 0);
  const begin = monthOf(thisMonth, -MONTHS);
  const dueMonth = monthOf(thisMonth, -1);
  const dayEnd = new Date(Math.floor((Date.now() - SETTLED_MS) / FIVE_MINUTES_MS) * FIVE_MINUTES_MS);
  const dayStart = new Date(dayEnd.getTime() - DAY_MS);
  const owner = new pg.Client({ connectionString: postgres.ownerUrl });
  await owner.connect();
  try {
    await owner.query(`SET work_mem = '256MB'`);
    await owner.query(
      `SELECT create_month_partitions(($1::timestamptz AT TIME ZONE 'UTC' + make_interval(months => n))::date)
      FROM generate_series(0, ${MONTHS + 1}) n`,
      [begin],
    );
    await owner.query(inventAccounts(shape.accounts, shape.calls, begin.toISOString()));
    await owner.query(openAccounts(begin.toISOString()));
    await owner.query(inventCalls(begin.toISOString(), thisMonth.toISOString(), 1));
    await owner.query(inventCalls(dayStart.toISOString(), dayEnd.toISOString(), DAY_OF_YEAR));
    await owner.query(inventEntries(begin.toISOString(), dueMonth.toISOString()));
    note('calls invented');
    await Promise.all(WRITE_ROWS.map((text) => alone(postgres.ownerUrl, text)));
    await owner.query(writeState);
    // in production autovacuum would have done this by now; without it, the seals are planned for empty tables
    await owner.query('ANALYZE');
    note('rows written');
    await sealAll(database, owner);
    note('entries sealed');
    await owner.query(writeStatements(dueMonth.toISOString()));
    await owner.query(writeDocuments(begin.toISOString()));
    await placeAll(database, dayStart);
    await owner.query(writeDays);
    note('statements, proofs and days written');
    return await described(owner, shape, { begin, dueMonth, thisMonth, dayStart });
  } finally {
    await owner.end();
  }
}

async function sealAll(database: Database, owner: pg.Client): Promise<void> {
  const { rows } = await owner.query<{ id: string }>('SELECT id FROM year_accounts ORDER BY rank');
  const seal = async ({ id }: { id: string }) => {
    await sealEntries(database.money, id);
  };
  const onFailure = (_: unknown, error: unknown) => {
    throw error;
  };
  await forEachIsolated(rows, seal, { together: 2, onFailure });
}

/** Marks all accounts as if a nightly proof of them had ended at that time, and none since. */
export async function placeAll(database: Database, until: Date): Promise<void> {
  const { rows } = await database.money.query<{ id: string }>('SELECT id FROM accounts ORDER BY id');
  for (let start = 0; start < rows.length; start += ACCOUNTS_PER_PAGE) {
    const ids = rows.slice(start, start + ACCOUNTS_PER_PAGE).map(({ id }) => id);
    await queryProof(database.money, placeProofs, [ids, until], 'READ WRITE');
  }
  await run(database.money, recordCheck, ['nightly', rows.length, '[]', 0]);
}

async function described(
  owner: pg.Client,
  shape: YearShape,
  times: { readonly begin: Date; readonly dueMonth: Date; readonly thisMonth: Date; readonly dayStart: Date },
): Promise<Year> {
  const { rows } = await owner.query<Record<string, string>>(
    `SELECT (SELECT count(*) FROM year_calls) AS calls,
            (SELECT count(*) FROM year_calls WHERE begun < statement_end($1)) AS first_month_calls,
            (SELECT count(*) FROM year_entries WHERE at >= $2 AND at < $3) AS due_entries,
            (SELECT count(*) FROM year_entries WHERE at >= $4) AS new_entries,
            l.id AS account, l.first_key AS key, p.id AS poisoned,
            (SELECT count(*) FROM year_entries e WHERE e.account_id = l.id AND at >= $2 AND at < $3) AS largest_due
       FROM year_accounts l, year_accounts p WHERE l.rank = 1 AND p.rank = ${Math.ceil(shape.accounts / 2)}`,
    [times.begin, times.dueMonth, times.thisMonth, times.dayStart],
  );
  const found = rows[0]!;
  const secret = newSecret(found.account!);
  const keyHash = secretHash(secret)!;
  await owner.query('UPDATE api_keys SET hash = $2 WHERE id = $1', [found.key, keyHash]);
  await owner.query('DROP TABLE year_accounts, year_calls, year_entries');
  return {
    shape,
    calls: Number(found.calls),
    newEntries: Number(found.new_entries),
    firstMonth: times.begin,
    firstMonthCalls: Number(found.first_month_calls),
    dueEntries: Number(found.due_entries),
    largest: {
      ...{ accountId: found.account!, apiKeyId: found.key!, secret, keyHash },
      dueEntries: Number(found.largest_due),
    },
    poisoned: found.poisoned!,
  };
}

async function alone(ownerUrl: string, text: string): Promise<void> {
  const client = new pg.Client({ connectionString: ownerUrl });
  await client.connect();
  try {
    await client.query(`SET work_mem = '256MB'`);
    await client.query(text);
  } finally {
    await client.end();
  }
}

/** Returns the start (UTC) of the month `months` after that of a time. */
export function monthOf(time: Date, months: number): Date {
  return new Date(Date.UTC(time.getUTCFullYear(), time.getUTCMonth() + months));
}
