import pg from 'pg';
import { ledgerViolations } from '../setup/database.ts';
import type { CallOutcome } from './outcome-log.ts';

export interface AuditReport {
  /** Number of calls whose client received a complete answer. */
  readonly told: number;
  /** A line for each call whose books differ from what the client was told. */
  readonly wrong: readonly string[];
}

/**
 * Compares the books with what clients recorded, without knowledge of how the product works. A complete answer must be charged as its usage
 * says, an error not at all, a broken call at most once and at most its maximum cost; and there must be no charge that no client asked for.
 * A replayed answer is charged to the call it repeats. `others`: ids of requests to ignore.
 */
export async function auditCalls(
  ownerUrl: string,
  calls: readonly CallOutcome[],
  others: readonly string[] = [],
): Promise<AuditReport> {
  const booked = await withOwner(ownerUrl, async (client) => {
    const { rows } = await client.query<{
      request_id: string;
      charge: string;
      entries: string;
      booked: string;
    }>(
      `SELECT g.request_id, g.charge, count(e.reference) AS entries, coalesce(-sum(e.amount), 0) AS booked
         FROM generations g LEFT JOIN ledger_entries e ON e.reference = g.id AND e.type = 'usage_charge'
        WHERE g.endpoint = '/api/v1/chat/completions' GROUP BY g.id, g.request_id, g.charge`,
    );
    return new Map(rows.map((row) => [row.request_id, row]));
  });
  for (const requestId of others) {
    booked.delete(requestId);
  }
  const wrong: string[] = [];
  for (const { requestId, outcome, charge, status, code, isReplay } of calls) {
    const row = booked.get(requestId);
    booked.delete(requestId);
    const amount = BigInt(row?.booked ?? 0);
    const isOnce = row === undefined || (Number(row.entries) <= 1 && amount === BigInt(row.charge));
    const isRight =
      outcome === 'answered'
        ? amount === (isReplay ? 0n : charge)
        : outcome === 'refused'
          ? amount === 0n
          : amount <= charge;
    if (!isOnce || !isRight) {
      wrong.push(
        `${requestId} ${outcome} (${status} ${code}): told ${charge}, booked ${amount} in ${row?.entries ?? 0} entries`,
      );
    }
  }
  wrong.push(
    ...[...booked.keys()].map((requestId) => `${requestId} is in the books, but no client made that call`),
  );
  return { told: calls.filter(({ outcome }) => outcome === 'answered').length, wrong };
}

/** Checks what every row requires besides its own figure: no violated invariant, and no hold still open after `milliseconds`. */
export async function auditBooks(ownerUrl: string, milliseconds: number): Promise<string[]> {
  const holds = await untilNoHolds(ownerUrl, milliseconds);
  const violations = await withOwner(ownerUrl, ledgerViolations);
  return [
    ...(holds > 0 ? [`${holds} holds still open after ${milliseconds / 1_000} s`] : []),
    ...violations.map(({ invariant, object, detail }) => `${invariant}: ${object} ${detail}`),
  ];
}

/** Waits until no hold is open, for at most `milliseconds`. Returns the number still open. */
export async function untilNoHolds(ownerUrl: string, milliseconds: number): Promise<number> {
  const deadline = Date.now() + milliseconds;
  return await withOwner(ownerUrl, async (client) => {
    for (;;) {
      const { rows } = await client.query<{ open: number }>('SELECT count(*)::integer AS open FROM holds');
      const open = rows[0]?.open ?? 0;
      if (open === 0 || Date.now() > deadline) {
        return open;
      }
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  });
}

/** Expires all open holds as time would, so that the reapers close what killed processes left behind. */
export async function expireHolds(ownerUrl: string): Promise<void> {
  await withOwner(ownerUrl, (client) =>
    client.query(`UPDATE holds SET expires_at = clock_timestamp() - interval '1 ms' WHERE NOT is_task`),
  );
}

/** Runs a query as the owner of the database and returns its rows. */
export async function queryOwner<Row extends pg.QueryResultRow>(
  ownerUrl: string,
  text: string,
  values: readonly unknown[] = [],
): Promise<Row[]> {
  return await withOwner(ownerUrl, async (client) => (await client.query<Row>(text, [...values])).rows);
}

/** Runs work on a connection of the owner of the database. */
export async function withOwner<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
