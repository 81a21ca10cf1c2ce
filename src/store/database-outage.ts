/** How the system and the resolver say that a host cannot be reached, or no longer. */
const OUTAGE_CODES = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN'],
  ...['EHOSTUNREACH', 'EHOSTDOWN', 'ENETUNREACH', 'ENETDOWN'],
]);
/**
 * SQLSTATEs that mean a temporary outage of Postgres: connections (08), out of disk, memory or connections (53), starting or stopping
 * (57P), read-only (25006), connections ended after a time (25P03, 25P04).
 */
const OUTAGE_STATE = /^(08...|53...|57P..|25006|25P0[34])$/;
/** pg reports these without a code. */
const OUTAGE_MESSAGE =
  /^(timeout e(xceeded when trying to connect|xpired)$|Connection terminated|Query read timeout|Client (has encountered a connection error|was closed) and is not queryable)/;
const OUTAGE_NAMES = /^Sequelize(Connection|HostNot|InvalidConnection|AccessDenied)\w*Error$/;
const CAUSES_MAX = 3;

/** Returns whether the database was away, or could not write, when the error or one of its causes was thrown. */
export function isDatabaseOutage(error: unknown, depth = 0): boolean {
  if (typeof error !== 'object' || error === null || depth > CAUSES_MAX) {
    return false;
  }
  const { code, name, message, parent, cause } = error as Partial<Record<string, unknown>>;
  return (
    (typeof code === 'string' && (OUTAGE_CODES.has(code) || OUTAGE_STATE.test(code))) ||
    (typeof name === 'string' && OUTAGE_NAMES.test(name)) ||
    (typeof message === 'string' && OUTAGE_MESSAGE.test(message)) ||
    isDatabaseOutage(parent ?? cause, depth + 1)
  );
}
