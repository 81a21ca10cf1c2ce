import { SecretFileError, withSecretFiles } from '../lib/secret-files.ts';
import { ConfigError } from './config-error.ts';

/** The variables that are set, secrets read from their files; an empty one counts as not set. Throws {@link ConfigError}. */
export function readEnvironment(environment: NodeJS.ProcessEnv): Record<string, string> {
  try {
    const entries = Object.entries(withSecretFiles(environment));
    return Object.fromEntries(entries.filter((entry): entry is [string, string] => Boolean(entry[1])));
  } catch (error) {
    throw error instanceof SecretFileError ? new ConfigError(error.message) : error;
  }
}
