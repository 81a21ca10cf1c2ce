/** Thrown for a catalog that cannot be used. The message is one line: file, path, what is wrong. */
export class CatalogError extends Error {
  override readonly name = 'CatalogError';
}
