import { AppError } from '../../lib/errors.ts';
import { isDatabaseOutage } from '../../store/database-outage.ts';

/** Converts anything thrown into an error that the client may see. The original is kept as the cause, for the log. */
export function toAppError(error: unknown): AppError {
  if (error instanceof AppError) {
    return error;
  }
  if (isDatabaseOutage(error) || declaresOutage(error)) {
    return new AppError('service_unavailable', 'the service is briefly unavailable, please retry', {
      retryAfterSeconds: 1,
      cause: error,
    });
  }
  if (error instanceof URIError || statusOf(error) === 400) {
    return new AppError('invalid_request', 'the request path is not valid percent-encoded UTF-8', {
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

/** Errors of the media storage say so themselves: this layer does not know it. */
function declaresOutage(error: unknown): boolean {
  return error instanceof Error && 'isOutage' in error && error.isOutage === true;
}
