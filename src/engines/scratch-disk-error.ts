/** A file of the scratch disk could not be written. The upstream is not to blame, and what it made is still good. */
export class ScratchDiskError extends Error {
  override readonly name = 'ScratchDiskError';
  /** The system's error code, e.g. `ENOSPC`. Empty when there is none. */
  readonly code: string;

  constructor(cause: unknown) {
    const { code, message } = (cause ?? {}) as { readonly code?: unknown; readonly message?: unknown };
    super(`the scratch disk cannot be written: ${String(message ?? cause)}`, { cause });
    this.code = typeof code === 'string' ? code : '';
  }
}

/** Does a write to the scratch disk. Throws ScratchDiskError, so that its failure is not taken for one of the connection. */
export async function onScratchDisk<T>(write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    throw new ScratchDiskError(error);
  }
}
