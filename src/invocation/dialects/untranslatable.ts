import { AppError } from '../../lib/errors.ts';

/** Returns the error for something that one protocol can express and the other cannot. Dropping it silently would change the meaning. */
export function untranslatable(what: string): AppError {
  return new AppError('invalid_parameter', `${what} is not supported for this model on this endpoint`);
}
