import { AppError } from '../../lib/errors.ts';

/** A request that one protocol can say and the other cannot. Dropping the part silently would change its meaning. */
export function untranslatable(what: string): AppError {
  return new AppError('invalid_parameter', `${what} is not supported for this model on this endpoint`);
}
