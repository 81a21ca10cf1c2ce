/**
 * `item`: the database rejects a row, or any batch that contains it, every time. `lock`: someone holds a lock for too long. `statement`:
 * the database rejects the statement whatever its data (rights, prepared statements, search path, a missing function), which does not
 * implicate the item. `unknown`: the connection broke, the server restarts, a deadlock was resolved at our expense, or no answer came.
 * Whether the statement committed is not known; sending it again settles that.
 */
export type FailureKind = 'item' | 'lock' | 'statement' | 'unknown';

const LOCK_NOT_AVAILABLE = '55P03';
const FEATURE_NOT_SUPPORTED = '0A000';
/** The Postgres routine that reports changed result columns of a prepared statement: after a migration, until it is prepared again. */
const STALE_PLAN_ROUTINE = 'RevalidateCachedQuery';

/** The statement's own data is at fault: data (22), integrity (23), errors raised by our functions. */
const ITEM = /^(22...|23...|P0001|TG...)$/;
/** A stale plan (0A), prepared statement (26), rights and names (42), other function errors (P0), internal errors (XX). */
const STATEMENT = /^(0A|26|3F|42|P0|XX)...$/;

/** Classifies a failed statement by what to do about it. */
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

/** Any other unsupported feature depends on the rows of the batch: a router over several databases rejects some that span them. */
function isStalePlan(error: unknown): boolean {
  return error instanceof Error && 'routine' in error && error.routine === STALE_PLAN_ROUTINE;
}

/** Returns the SQLSTATE of a Postgres error, or undefined for socket errors and everything else. */
export function sqlState(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : undefined;
}
