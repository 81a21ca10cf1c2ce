import { closeSync, fstatSync, mkdirSync, openSync, readSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { explainFileError } from './start-failure.ts';

/**
 * Opens the log for appending and returns the descriptor to pass to a child process, so that its output does not depend on the
 * process that started it. Throws StartFailure when the log is not writable.
 */
export function openLog(path: string): number {
  try {
    mkdirSync(dirname(path), { recursive: true });
    return openSync(path, 'a', 0o640);
  } catch (error) {
    throw explainFileError(error, path);
  }
}

/** Returns the current size of the log in bytes; 0 when it does not exist. */
export function logSize(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** Returns what was appended after `offset` bytes (at most the last 64 kB), or an empty text. */
export function readLogFrom(path: string, offset: number): string {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(path, 'r');
    const size = fstatSync(descriptor).size;
    const start = Math.max(offset > size ? 0 : offset, size - 65_536);
    const buffer = Buffer.alloc(size - start);
    readSync(descriptor, buffer, 0, buffer.length, start);
    return buffer.toString('utf8');
  } catch {
    return '';
  } finally {
    if (descriptor !== undefined) {
      closeSync(descriptor);
    }
  }
}
