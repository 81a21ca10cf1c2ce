import { resolve } from 'node:path';
import { SecretFileError, secretOf } from '../../lib/secret-files.ts';
import { readSecretFile } from '../owner-files.ts';
import { CliError, EXIT } from './cli-error.ts';

export interface CliSettings {
  /** Base URL of the service, without a trailing slash. */
  readonly url: string;
  readonly token: string;
}

const DEFAULT_URL = 'http://localhost:8080';
/** File that `npm start` creates when no ADMIN_TOKEN is set. */
const MADE_TOKEN_FILE = 'admin.token';
const DEFAULT_FOLDER = './.data';

/**
 * Determines the service address and the operator token: `--url` or TOLLGATE_URL; ADMIN_TOKEN, the file that ADMIN_TOKEN_FILE
 * names, or the file that the first start left in DATA_DIR. Throws CliError.
 */
export async function cliSettings(
  environment: Readonly<Record<string, string | undefined>>,
  urlOption: string | undefined,
): Promise<CliSettings> {
  const url = (urlOption ?? environment.TOLLGATE_URL ?? DEFAULT_URL).trim().replace(/\/+$/, '');
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw new CliError(`${url} is not an http:// or https:// address`, EXIT.usage);
  }
  const folder = resolve(environment.DATA_DIR ?? DEFAULT_FOLDER);
  const token =
    secretSetting(environment, 'ADMIN_TOKEN')?.trim() ?? (await readSecretFile(folder, MADE_TOKEN_FILE));
  if (!token) {
    throw new CliError(
      `no operator token: set ADMIN_TOKEN or ADMIN_TOKEN_FILE, or DATA_DIR to the folder with ${MADE_TOKEN_FILE} (looked in ${folder})`,
      EXIT.usage,
    );
  }
  return { url, token };
}

/** Returns a secret from the environment or from the file that its `…_FILE` names. Throws CliError for a file that cannot be read. */
export function secretSetting(
  environment: Readonly<Record<string, string | undefined>>,
  name: string,
): string | undefined {
  try {
    return secretOf(environment, name);
  } catch (error) {
    throw error instanceof SecretFileError ? new CliError(error.message, EXIT.usage) : error;
  }
}
