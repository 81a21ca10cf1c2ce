/**
 * `item`: the database refuses a row by itself, or the batch that it stands in, again and again. `lock`: somebody holds a lock too long. `statement`: it refuses the
 * statement whatever is in it (rights, prepared statements, search path, a missing function), which says nothing of the item.
 * `unknown`: the connection broke, the server restarts, a deadlock was resolved at our cost, or no answer came: whether
 * the statement committed is not known, and sending it again tells.
 */
export type FailureKind = 'item' | 'lock' | 'statement' | 'unknown';

const LOCK_NOT_AVAILABLE = '55P03';
const FEATURE_NOT_SUPPORTED = '0A000';
/** Where Postgres finds that a prepared statement returns other columns than it did: after a migration, until it is prepared anew. */
const STALE_PLAN_ROUTINE = 'RevalidateCachedQuery';

/** The statement's own data is at fault: data (22), integrity (23), raised by our functions. */
const ITEM = /^(22...|23...|P0001|TG...)$/;
/** A stale plan (0A), prepared statement (26), rights and names (42), other faults of functions (P0), internal (XX). */
const STATEMENT = /^(0A|26|3F|42|P0|XX)...$/;

/** Sorts a failed statement by what helps. */
export function classifyFailure(error: unknown): FailureKind {
  const code = sqlState(error);
  if (code === LOCK_NOT_AVAILABLE) {
    return 'lock';
  }
  if (code === undefined) {
    return 'unknown';
  }
  if (code === FEATURE_NOT_SUPPORTED && !isStalePlan(error)) {
    return 'item';
  }
  return ITEM.test(code) ? 'item' : STATEMENT.test(code) ? 'statement' : 'unknown';
}

/** What else a server does not support depends on the rows of the batch: a router of several databases refuses some that lie apart. */
function isStalePlan(error: unknown): boolean {
  return error instanceof Error && 'routine' in error && error.routine === STALE_PLAN_ROUTINE;
}

/** The SQLSTATE of a Postgres error; undefined for socket errors and everything else. */
export function sqlState(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : undefined;
}
