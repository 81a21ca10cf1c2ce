import { AppError } from './errors.ts';

/** Seconds after which somebody who was turned away may ask again. */
export const OVERLOAD_RETRY_SECONDS = 1;

/** What a caller is told for whom this process has no time. */
export function overloaded(): AppError {
  return new AppError('service_unavailable', 'This instance is overloaded, please retry.', {
    retryAfterSeconds: OVERLOAD_RETRY_SECONDS,
  });
}
