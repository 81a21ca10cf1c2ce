import { CatalogError } from './catalog-error.ts';

const REFERENCE = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g;

/**
 * Replaces `${NAME}` and `${NAME:-default}` in every string of a parsed document, so that a value can't change the
 * document's structure. Throws CatalogError (without the file name) for a variable that is not set.
 */
export function interpolate(
  value: unknown,
  variables: Readonly<Record<string, string | undefined>>,
  path = '',
): unknown {
  if (typeof value === 'string') {
    return value.replace(REFERENCE, (_, name: string, fallback: string | undefined) => {
      const replacement = variables[name] ?? fallback;
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
