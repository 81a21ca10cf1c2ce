import type pg from 'pg';

/**
 * A statement with a name: prepared once per connection, and found by that name in the database's statistics. What asks an index for
 * rows before or after now compares with statement_timestamp(), and what writes takes the time from it: clock_timestamp() may differ from
 * row to row, so no index serves it, and databases that spread rows over several servers refuse it in writes. They also refuse the time
 * within CASE, COALESCE, RETURNING and what a conflict does: there it is taken from a row (test/store/time-in-writes.test.ts).
 */
export interface SqlStatement {
  /** Unique over all statements: Postgres keeps one plan per name. */
  readonly name: string;
  readonly text: string;
}

/** Runs a named statement with bound parameters. Throws what Postgres throws; a broken connection leaves the pool. */
export async function run<Row extends pg.QueryResultRow>(
  client: pg.Pool | pg.PoolClient,
  statement: SqlStatement,
  values: readonly unknown[],
): Promise<Row[]> {
  const result = await client.query<Row>({ name: statement.name, text: statement.text, values: [...values] });
  return result.rows;
}

/** Reads rows with a statement; BIGINTs arrive as decimal text. */
export type ReadRows = <Row extends pg.QueryResultRow>(
  statement: SqlStatement,
  values: readonly unknown[],
) => Promise<Row[]>;

/** Reads by {@link run}. */
export function preparedReads(client: pg.Pool | pg.PoolClient): ReadRows {
  return (statement, values) => run(client, statement, values);
}
