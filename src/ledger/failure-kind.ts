/**
 * `item`: the database refuses a row by itself, again and again. `lock`: somebody holds a lock too long. `statement`: it refuses the
 * statement whatever is in it (rights, prepared statements, search path, a missing function), which says nothing of the item.
 * `unknown`: the connection broke, the server restarts, a deadlock was resolved at our cost, or no answer came: whether
 * the statement committed is not known, and sending it again tells.
 */
export type FailureKind = 'item' | 'lock' | 'statement' | 'unknown';

const LOCK_NOT_AVAILABLE = '55P03';

/** The statement's own data is at fault: data (22), integrity (23), raised by our functions. */
const ITEM = /^(22...|23...|P0001|TG...)$/;
/** Feature (0A), prepared statement (26), rights and names (42), other faults of functions (P0), internal (XX). */
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
  return ITEM.test(code) ? 'item' : STATEMENT.test(code) ? 'statement' : 'unknown';
}

/** The SQLSTATE of a Postgres error; undefined for socket errors and everything else. */
export function sqlState(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : undefined;
}
