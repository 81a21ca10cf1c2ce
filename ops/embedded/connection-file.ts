import { chmodSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { errorCode } from './error-code.ts';
import { explainFileError, StartFailure } from './start-failure.ts';

/**
 * Returns what is stored in `path`, or undefined when the file does not exist yet. Throws StartFailure when the file exists but
 * does not contain an object.
 */
export function readConnection(path: string): Record<string, unknown> | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') {
      return undefined;
    }
    throw explainFileError(error, path);
  }
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed === 'object' && parsed !== null) {
      return parsed as Record<string, unknown>;
    }
  } catch {
    // Falls through to the error below.
  }
  throw new StartFailure(`${path} is damaged. Restore it from a backup; it holds the service's password.`);
}

/** Writes the file atomically, readable by the owner only. Throws StartFailure on a full or read-only disk. */
export function writeConnection(path: string, content: Record<string, unknown>): void {
  const temporary = `${path}.new`;
  try {
    writeFileSync(temporary, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 });
    chmodSync(temporary, 0o600);
    renameSync(temporary, path);
  } catch (error) {
    throw explainFileError(error, path);
  }
}
