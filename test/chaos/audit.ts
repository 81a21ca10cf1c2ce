import pg from 'pg';
import { ledgerViolations } from '../setup/database.ts';
import type { Told } from './told-log.ts';

export interface AuditReport {
  /** Calls that were told a whole answer. */
  readonly told: number;
  /** Each call where the books say something else than the client was told. */
  readonly wrong: readonly string[];
}

/**
 * Holds the books against what clients wrote down; knows nothing of how the product works. A whole answer must be charged as
 * its usage says, an error not at all, what broke at most once and never above the most it can cost; and no charge may be
 * there that nobody asked for. A replayed answer is charged to the call that it repeats. `others`: ids of requests to leave out.
 */
export async function auditCalls(
  ownerUrl: string,
  calls: readonly Told[],
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
    ...[...booked.keys()].map((requestId) => `${requestId} is in the books, but nobody asked for it`),
  );
  return { told: calls.filter(({ outcome }) => outcome === 'answered').length, wrong };
}

/** What every row asks besides its own figure: invariants without a violation, no hold left open within `milliseconds`. */
export async function auditBooks(ownerUrl: string, milliseconds: number): Promise<string[]> {
  const holds = await untilNoHolds(ownerUrl, milliseconds);
  const violations = await withOwner(ownerUrl, ledgerViolations);
  return [
    ...(holds > 0 ? [`${holds} holds still open after ${milliseconds / 1_000} s`] : []),
    ...violations.map(({ invariant, object, detail }) => `${invariant}: ${object} ${detail}`),
  ];
}

/** Open holds once there are none, or after so long. */
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

/** Makes the leases of all open holds run out, as time would: what is left of killed processes is closed by the reapers. */
export async function expireHolds(ownerUrl: string): Promise<void> {
  await withOwner(ownerUrl, (client) =>
    client.query(`UPDATE holds SET expires_at = clock_timestamp() - interval '1 ms' WHERE NOT is_task`),
  );
}

/** Rows of a query by the owner of the database. */
export async function queryOwner<Row extends pg.QueryResultRow>(
  ownerUrl: string,
  text: string,
  values: readonly unknown[] = [],
): Promise<Row[]> {
  return await withOwner(ownerUrl, async (client) => (await client.query<Row>(text, [...values])).rows);
}

/** Work on one connection of the owner of the database. */
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
