/** A frozen step of the schema. Once merged it is never edited; a correction is a new migration. */
export type Migration = StatementMigration | IndexMigration;

/** Statements that run in one transaction: all or none. */
export interface StatementMigration {
  /** Sorts the steps and names them in `schema_migrations`. */
  readonly name: string;
  /** SQL run in one transaction. */
  readonly up: string;
  /** SQL that undoes `up`, run in one transaction. */
  readonly down: string;
}

/**
 * Indexes on a table that may be large: built outside a transaction while everyone keeps writing, in any number of attempts. The step is
 * recorded when all of them are valid. Such a step contains nothing else.
 */
export interface IndexMigration {
  readonly name: string;
  readonly indexes: readonly ConcurrentIndex[];
}

/** The parts of `CREATE INDEX CONCURRENTLY`. On a partitioned table the index is built on each partition, then attached. */
export interface ConcurrentIndex {
  /** Unique in its schema. The index of a partition is named after both: `generations_202611_model` for `generations_model`. */
  readonly name: string;
  readonly table: string;
  /** What follows the table name in `CREATE INDEX`: `(account_id, id DESC)`, `USING gin (tags) WHERE tags IS NOT NULL`. */
  readonly definition: string;
  readonly isUnique?: boolean;
}
