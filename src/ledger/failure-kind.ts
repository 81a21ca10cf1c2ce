/**
 * `item`: the database refuses a row by itself, again and again. `lock`: somebody holds a lock too long.
 * `unknown`: the connection broke, the server restarts, a deadlock was resolved at our cost, or no answer came: whether
 * the statement committed is not known, and sending it again tells.
 */
export type FailureKind = 'item' | 'lock' | 'unknown';

const LOCK_NOT_AVAILABLE = '55P03';

/** SQLSTATE classes in which the statement's own data is at fault: data, integrity, raised by us, programming. */
const ITEM_CLASSES = ['22', '23', 'P0', '42', 'TG'];

/** Sorts a failed statement by what helps. */
export function classifyFailure(error: unknown): FailureKind {
  const code = sqlState(error);
  if (code === LOCK_NOT_AVAILABLE) {
    return 'lock';
  }
  return code !== undefined && ITEM_CLASSES.includes(code.slice(0, 2)) ? 'item' : 'unknown';
}

/** The SQLSTATE of a Postgres error; undefined for socket errors and everything else. */
export function sqlState(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : undefined;
}
