import { closeSync, fstatSync, mkdirSync, openSync, readSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { explainFileError } from './start-failure.ts';

/**
 * Opens the log for appending and returns the descriptor to hand to a child process, so that its output does not
 * pass through (and does not break with) the process that started it. Throws StartFailure when it cannot be written.
 */
export function openLog(path: string): number {
  try {
    mkdirSync(dirname(path), { recursive: true });
    return openSync(path, 'a', 0o640);
  } catch (error) {
    throw explainFileError(error, path);
  }
}

/** Bytes in the log now; 0 when there is none. */
export function logSize(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** What was appended since `offset` bytes (at most the last 64 kB of it); an empty text when nothing was. */
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
