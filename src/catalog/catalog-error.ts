/** A catalog that cannot be used. The message is one line and says where: file, path, what is wrong. */
export class CatalogError extends Error {
  override readonly name = 'CatalogError';
}
