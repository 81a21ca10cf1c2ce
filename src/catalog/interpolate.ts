import { SecretFileError, secretOf } from '../lib/secret-files.ts';
import { CatalogError } from './catalog-error.ts';

const REFERENCE = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g;

/**
 * Replaces `${NAME}` and `${NAME:-default}` in every string of a parsed document, so that a value can't change the
 * document's structure. Where `NAME_FILE` is set, the value is what that file holds now. Throws CatalogError (without the file name) for a
 * variable that is not set.
 */
export function interpolate(
  value: unknown,
  variables: Readonly<Record<string, string | undefined>>,
  path = '',
): unknown {
  if (typeof value === 'string') {
    return value.replace(REFERENCE, (_, name: string, fallback: string | undefined) => {
      const replacement = secretAt(path, variables, name) ?? fallback;
      if (replacement === undefined) {
        throw new CatalogError(`${path}: the environment variable ${name} is not set`);
      }
      return replacement;
    });
  }
  if (Array.isArray(value)) {
    return value.map((item, index) => interpolate(item, variables, `${path}[${index}]`));
  }
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).map(([name, item]) => [
      name,
      interpolate(item, variables, path === '' ? name : `${path}.${name}`),
    ]);
    return Object.fromEntries(entries);
  }
  return value;
}

function secretAt(
  path: string,
  variables: Readonly<Record<string, string | undefined>>,
  name: string,
): string | undefined {
  try {
    return secretOf(variables, name);
  } catch (error) {
    throw error instanceof SecretFileError ? new CatalogError(`${path}: ${error.message}`) : error;
  }
}
