import { readFileSync } from 'node:fs';

type Variables = Readonly<Record<string, string | undefined>>;

/** Thrown for a variable `NAME_FILE` that cannot be used. The message is one line that names it. */
export class SecretFileError extends Error {
  override readonly name = 'SecretFileError';
}

/** The settings that can be given as `NAME_FILE`. Every variable named in the catalog can be, too. */
export const SECRETS = [
  'DATABASE_URL',
  'DATABASE_OWNER_URL',
  'REDIS_URL',
  'TOLLGATE_SECRET',
  'TOLLGATE_SECRET_PREVIOUS',
  'ADMIN_TOKEN',
  'ADMIN_TOKENS',
  'WORKER_TOKEN',
  'STORAGE_TOKEN',
  'S3_ACCESS_KEY_ID',
  'S3_SECRET_ACCESS_KEY',
  'STRIPE_SECRET_KEY',
  'STRIPE_WEBHOOK_SECRET',
  'OIDC_CLIENT_SECRET',
] as const;

/**
 * Returns the value of a variable, or the content of the file that `NAME_FILE` names without its trailing line break; undefined if neither
 * is set. Throws SecretFileError if both are set, or if the file is empty or cannot be read.
 */
export function secretOf(variables: Variables, name: string): string | undefined {
  const path = variables[`${name}_FILE`];
  if (!path) {
    return variables[name];
  }
  if (variables[name]) {
    throw new SecretFileError(`${name}_FILE and ${name} are both set: unset one of them`);
  }
  const content = readSecret(name, path).replace(/\r?\n$/, '');
  if (content === '') {
    throw new SecretFileError(`${name}_FILE names an empty file`);
  }
  return content;
}

/** Returns the variables with each `NAME_FILE` replaced by its secret. Throws SecretFileError. */
export function withSecretFiles(variables: Variables): Record<string, string | undefined> {
  const known = { ...variables };
  for (const name of SECRETS) {
    known[name] = secretOf(variables, name);
    delete known[`${name}_FILE`];
  }
  return known;
}

function readSecret(name: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new SecretFileError(`${name}_FILE names a file that cannot be read (${code})`);
  }
}
