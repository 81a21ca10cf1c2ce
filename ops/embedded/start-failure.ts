import { errorCode, errorMessage } from './error-code.ts';

/** A start that cannot continue. `message` is the one line shown to the person: what is wrong and what to do. */
export class StartFailure extends Error {
  override readonly name: string = 'StartFailure';
}

/** A start that would fail the same way again, because a setting or the catalog is wrong. */
export class SettingsFailure extends StartFailure {}

const FILE_SYSTEM_REASONS: Record<string, (path: string) => string> = {
  ENOSPC: (path) => `The disk that holds ${path} is full. Free some space, or set DATA_DIR to a bigger disk.`,
  EDQUOT: (path) => `The disk quota of ${path} is used up. Free some space, or set DATA_DIR to another disk.`,
  EROFS: (path) => `${path} is on a read-only file system. Set DATA_DIR to a folder that is writable.`,
  EACCES: (path) =>
    `No permission to write ${path}. Start as its owner, or set DATA_DIR to a folder of your own.`,
  EPERM: (path) =>
    `No permission to change ${path}. Start as its owner, or set DATA_DIR to a folder of your own.`,
  EEXIST: (path) => `${path} is a file, not a folder. Set DATA_DIR to a folder.`,
  ENOTDIR: (path) => `A part of ${path} is a file, not a folder. Set DATA_DIR to a folder.`,
};

/** Returns a one-line failure for a file-system error at `path`, or the error itself when its code is unknown. */
export function explainFileError(error: unknown, path: string): Error {
  const code = errorCode(error) ?? '';
  const reason = FILE_SYSTEM_REASONS[code];
  if (reason !== undefined) {
    return new StartFailure(reason(path), { cause: error });
  }
  return error instanceof Error ? error : new Error(errorMessage(error), { cause: error });
}

/** Returns a one-line failure when the `output` of a program reports a full disk, otherwise undefined. */
export function explainFullDisk(output: string, path: string): StartFailure | undefined {
  if (/no space left on device|disk quota exceeded/i.test(output)) {
    return new StartFailure(FILE_SYSTEM_REASONS.ENOSPC?.(path) ?? output);
  }
  return undefined;
}
