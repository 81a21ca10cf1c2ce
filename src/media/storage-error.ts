import { AppError } from '../lib/errors.ts';

/** A storage that does not do what it was asked for. The message holds no credentials, URL or key. Trying again may help. */
export class StorageError extends Error {
  override readonly name = 'StorageError';
  /** HTTP status of the storage's answer; undefined when there was none. */
  readonly status: number | undefined;
  /** Why its TLS connection was refused; undefined where it was not. */
  readonly tlsRefusal: string | undefined;

  constructor(
    message: string,
    options: { status?: number | undefined; tlsRefusal?: string | undefined; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.status = options.status;
    this.tlsRefusal = options.tlsRefusal;
  }
}

/** The error of reading what is not there. */
export function mediaNotFound(): AppError {
  return new AppError('media_not_found', 'There is no such file.');
}
