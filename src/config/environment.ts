import { SecretFileError, withSecretFiles } from '../lib/secret-files.ts';
import { ConfigError } from './config-error.ts';

/** Returns the variables that are set, with secrets read from their files. An empty one counts as unset. Throws {@link ConfigError}. */
export function readEnvironment(environment: NodeJS.ProcessEnv): Record<string, string> {
  try {
    const entries = Object.entries(withSecretFiles(environment));
    return Object.fromEntries(entries.filter((entry): entry is [string, string] => Boolean(entry[1])));
  } catch (error) {
    throw error instanceof SecretFileError ? new ConfigError(error.message) : error;
  }
}
