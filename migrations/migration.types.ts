/** A frozen step of the schema. Once landed it is never edited; a correction is a new migration. */
export interface Migration {
  /** Sorts the steps and names them in `schema_migrations`. */
  readonly name: string;
  /** SQL run in one transaction. */
  readonly up: string;
  /** SQL that undoes `up`, run in one transaction. */
  readonly down: string;
}
