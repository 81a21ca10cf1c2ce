import { SecretFileError, withSecretFiles } from '../lib/secret-files.ts';
import { ConfigError } from './config-error.ts';
import { SETTINGS } from './settings.ts';

/** Settings whose every character counts: without its space or line break, such a secret opens nothing, and such a folder is another one. */
const EXACT = new Set(['TOLLGATE_SECRET', 'TOLLGATE_SECRET_PREVIOUS', 'DATA_DIR']);

/**
 * Returns the variables that are set, with secrets read from their files. An empty one counts as unset. Settings lose what `echo`,
 * Windows and editors leave at the ends of a value: spaces, line breaks, a byte order mark. Throws {@link ConfigError}.
 */
export function readEnvironment(environment: NodeJS.ProcessEnv): Record<string, string> {
  try {
    const entries = Object.entries(withSecretFiles(environment)).map(
      ([name, value]) => [name, isTrimmed(name) ? value?.trim() : value] as const,
    );
    return Object.fromEntries(entries.filter((entry): entry is [string, string] => Boolean(entry[1])));
  } catch (error) {
    throw error instanceof SecretFileError ? new ConfigError(error.message) : error;
  }
}

function isTrimmed(name: string): boolean {
  return Object.hasOwn(SETTINGS.shape, name) && !EXACT.has(name);
}
