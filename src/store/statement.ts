import type pg from 'pg';

/** A statement with a name: prepared once per connection, and found by that name in the database's statistics. */
export interface Statement {
  /** Unique over all statements: Postgres keeps one plan per name. */
  readonly name: string;
  readonly text: string;
}

/** Runs a named statement with bound parameters. Throws what Postgres throws; a broken connection leaves the pool. */
export async function run<Row extends pg.QueryResultRow>(
  client: pg.Pool | pg.PoolClient,
  statement: Statement,
  values: readonly unknown[],
): Promise<Row[]> {
  const result = await client.query<Row>({ name: statement.name, text: statement.text, values: [...values] });
  return result.rows;
}
