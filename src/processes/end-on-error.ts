import { UnavailableError } from '../config/config-error.ts';

/**
 * Ends the process that could not start or go on: with exit code 2 and one line for an error that a human has to solve, of one of the kinds
 * in `wrongSettings`; with exit code 1, so that a service manager tries again, for all others.
 */
export function endOnError(
  error: unknown,
  wrongSettings: readonly (abstract new (...parameters: never) => Error)[],
): never {
  const isWrong = wrongSettings.some((kind) => error instanceof kind);
  const isKnown = isWrong || error instanceof UnavailableError;
  process.stderr.write(`${isKnown ? (error as Error).message : ((error as Error).stack ?? String(error))}\n`);
  process.exit(isWrong ? 2 : 1);
}
