/** Thrown for a missing or invalid setting. The message is one line that names it and says what to do. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}
