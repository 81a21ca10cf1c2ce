/** Thrown for a missing or invalid setting. The message is one line that names it and says what to do. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/**
 * Thrown when what a setting names is not to be had at the moment, such as a port in use or a full disk. The message is one line that names
 * the setting. Unlike after a {@link ConfigError}, a later start may succeed, so the exit code must not stop a service manager from trying.
 */
export class UnavailableError extends Error {
  override readonly name = 'UnavailableError';
}
