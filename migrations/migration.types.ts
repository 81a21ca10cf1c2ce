/** A frozen step of the schema. Once landed it is never edited; a correction is a new migration. */
export type Migration = StatementMigration | IndexMigration;

/** Statements that run in one transaction: all of them, or none. */
export interface StatementMigration {
  /** Sorts the steps and names them in `schema_migrations`. */
  readonly name: string;
  /** SQL run in one transaction. */
  readonly up: string;
  /** SQL that undoes `up`, run in one transaction. */
  readonly down: string;
}

/**
 * Indexes on a table that may be large: built outside of a transaction while everybody writes on, in any number of attempts. The step is
 * recorded when all of them are valid. Nothing else is in such a step.
 */
export interface IndexMigration {
  readonly name: string;
  readonly indexes: readonly ConcurrentIndex[];
}

/** `CREATE INDEX CONCURRENTLY`, in parts. On a partitioned table it is built on each partition, then attached. */
export interface ConcurrentIndex {
  /** Unique in its schema. On a partition, the index is called after both: `generations_202611_model` for `generations_model`. */
  readonly name: string;
  readonly table: string;
  /** What follows the table in `CREATE INDEX`: `(account_id, id DESC)`, `USING gin (tags) WHERE tags IS NOT NULL`. */
  readonly definition: string;
  readonly isUnique?: boolean;
}
