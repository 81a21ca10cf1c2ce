/** A problem with Redis that waiting does not solve: permissions, password, certificate, version, database, cluster. */
export class RedisSettingsError extends Error {
  override readonly name = 'RedisSettingsError';
}
