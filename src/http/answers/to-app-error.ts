import { AppError } from '../../lib/errors.ts';

const OUTAGE_CODES = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND']);
/**
 * SQLSTATEs that mean a temporary outage of Postgres: connections (08), out of disk, memory or connections (53), starting or stopping
 * (57P), read-only (25006).
 */
const OUTAGE_STATE = /^(08...|53...|57P..|25006)$/;
/** pg reports these without a code. */
const OUTAGE_MESSAGE = /^(timeout exceeded when trying to connect|Connection terminated|Query read timeout)/;
const OUTAGE_NAMES = /^Sequelize(Connection|HostNot|InvalidConnection|AccessDenied)\w*Error$/;

/** Converts anything thrown into an error that the client may see. The original is kept as the cause, for the log. */
export function toAppError(error: unknown): AppError {
  if (error instanceof AppError) {
    return error;
  }
  if (error instanceof URIError || statusOf(error) === 400) {
    return new AppError('invalid_request', 'the request path is not valid percent-encoded UTF-8', {
      cause: error,
    });
  }
  if (isOutage(error, 0)) {
    return new AppError('service_unavailable', 'the service is briefly unavailable, please retry', {
      retryAfterSeconds: 1,
      cause: error,
    });
  }
  return new AppError(
    'internal_error',
    'an internal error occurred; support can trace it by its request id',
    {
      cause: error,
    },
  );
}

function statusOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'status' in error ? error.status : undefined;
}

function isOutage(error: unknown, depth: number): boolean {
  if (typeof error !== 'object' || error === null || depth > 3) {
    return false;
  }
  const { code, name, message, parent, cause } = error as Partial<Record<string, unknown>>;
  return (
    (typeof code === 'string' && (OUTAGE_CODES.has(code) || OUTAGE_STATE.test(code))) ||
    (typeof name === 'string' && OUTAGE_NAMES.test(name)) ||
    (typeof message === 'string' && OUTAGE_MESSAGE.test(message)) ||
    isOutage(parent ?? cause, depth + 1)
  );
}
