import { readFileSync } from 'node:fs';

type Variables = Readonly<Record<string, string | undefined>>;

/** A variable `NAME_FILE` that cannot be followed. The message is one line that names it. */
export class SecretFileError extends Error {
  override readonly name = 'SecretFileError';
}

/** What `NAME_FILE` may stand for; of the catalog's variables, any. */
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
 * The value of a variable, or what is in the file that `NAME_FILE` names, without the line break at its end; undefined: neither is set.
 * Throws SecretFileError where both are, or the file is empty or cannot be read.
 */
export function secretOf(variables: Variables, name: string): string | undefined {
  const path = variables[`${name}_FILE`];
  if (!path) {
    return variables[name];
  }
  if (variables[name]) {
    throw new SecretFileError(`${name}_FILE is set beside ${name}: unset one of them`);
  }
  const content = readSecret(name, path).replace(/\r?\n$/, '');
  if (content === '') {
    throw new SecretFileError(`${name}_FILE names an empty file`);
  }
  return content;
}

/** The same variables with each secret in place of its file's name. Throws SecretFileError. */
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
