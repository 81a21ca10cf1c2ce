import { AppError } from './errors.ts';

/** What a caller is told for whom this process has no time. */
export function overloaded(): AppError {
  return new AppError('service_unavailable', 'This instance is overloaded, please retry.', {
    retryAfterSeconds: 1,
  });
}
