import type { Sequelize } from 'sequelize';
import { QueryTypes } from 'sequelize';
import type { ReadRows, SqlStatement } from './statement.ts';

/** Runs a read with bound parameters on the pool for lists and reports. BIGINTs arrive as decimal text. */
export function readRows<Row extends object>(
  sequelize: Sequelize,
  statement: SqlStatement,
  values: readonly unknown[],
): Promise<Row[]> {
  return sequelize.query<Row>(statement.text, { bind: [...values], type: QueryTypes.SELECT });
}

/** Returns a reader that uses {@link readRows}. */
export function reportReads(sequelize: Sequelize): ReadRows {
  return (statement, values) => readRows(sequelize, statement, values);
}
