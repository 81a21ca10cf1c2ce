import type pg from 'pg';

/**
 * A named statement: prepared once per connection, and listed under that name in the database's statistics. To find rows before or after
 * the current time by an index, and to write the current time, use statement_timestamp(): clock_timestamp() may differ from row to row, so
 * no index can be used for it, and databases that spread rows over several servers reject it in writes. They also reject the time inside
 * CASE, COALESCE, RETURNING and conflict actions: take it from a row there (test/store/time-in-writes.test.ts).
 */
export interface SqlStatement {
  /** Unique across all statements: Postgres keeps one plan per name. */
  readonly name: string;
  readonly text: string;
}

/** Runs a named statement with bound parameters. Throws Postgres errors; a broken connection leaves the pool. */
export async function run<Row extends pg.QueryResultRow>(
  client: pg.Pool | pg.PoolClient,
  statement: SqlStatement,
  values: readonly unknown[],
): Promise<Row[]> {
  const result = await client.query<Row>({ name: statement.name, text: statement.text, values: [...values] });
  return result.rows;
}

/** Reads rows with a statement. BIGINTs arrive as decimal text. */
export type ReadRows = <Row extends pg.QueryResultRow>(
  statement: SqlStatement,
  values: readonly unknown[],
) => Promise<Row[]>;

/** Returns a reader that uses {@link run}. */
export function preparedReads(client: pg.Pool | pg.PoolClient): ReadRows {
  return (statement, values) => run(client, statement, values);
}
