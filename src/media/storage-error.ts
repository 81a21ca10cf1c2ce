import { AppError } from '../lib/errors.ts';

/** A failure of the storage. The message contains no credentials, URL or key. A retry may help. */
export class StorageError extends Error {
  override readonly name = 'StorageError';
  /** For whoever may not know this class: what was asked for may succeed later. */
  readonly isOutage = true;
  /** HTTP status of the storage's response; undefined when there was none. */
  readonly status: number | undefined;
  /** Why its TLS connection was rejected, in brackets, and what to do about it; undefined when it was not. */
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

/** Returns the error for reading a missing object. */
export function mediaNotFound(): AppError {
  return new AppError('media_not_found', 'There is no such file.');
}
