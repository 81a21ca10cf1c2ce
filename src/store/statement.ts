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
  const { name, text } = statement;
  const result = await client.query<Row>({ name, text, values: values.map(storable) });
  return result.rows;
}

/** What JSON writes for NUL and for half a character; an escaped backslash, so that what follows it is text. */
const ESCAPE = /\\(?:\\|u0000|ud[89a-f][0-9a-f]{2})/g;
const REPLACEMENT = '\ufffd';

/**
 * Returns a value as JSON for a parameter of type jsonb. Postgres rejects NUL and halves of characters, and they occur in what providers and
 * engines say, at the latest when their words are cut: one of them must not keep a charge, or a batch of them, from being recorded.
 */
export function jsonParameter(value: unknown): string {
  const json = JSON.stringify(value);
  return json.includes('\\u')
    ? json.replace(ESCAPE, (found) => (found === '\\\\' ? found : REPLACEMENT))
    : json;
}

/** Returns a parameter without NUL, which no text in Postgres can hold. The driver itself replaces halves of characters. */
function storable(value: unknown): unknown {
  if (typeof value === 'string') {
    return value.includes('\0') ? value.replaceAll('\0', REPLACEMENT) : value;
  }
  return Array.isArray(value) ? value.map(storable) : value;
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
