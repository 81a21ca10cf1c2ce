import { lstatSync, unlinkSync } from 'node:fs';
import { ConfigError } from '../config/config-error.ts';

/**
 * Removes the socket left behind by a killed process, so that the path can be listened on again. Throws ConfigError, and touches nothing,
 * if something other than a socket is there: a mistyped path must not cost a file.
 */
export function removeOldSocket(path: string): void {
  const found = kindOf(path);
  if (found === 'other') {
    throw new ConfigError(
      `LISTEN_SOCKET: ${path} exists and is not a socket: name another path, or remove what is there`,
    );
  }
  if (found === 'socket') {
    unlinkSync(path);
  }
}

/** Removes a socket that is no longer served, if it can be. Whatever else may have taken its place stays. */
export function unlinkSocket(path: string): void {
  try {
    if (kindOf(path) === 'socket') {
      unlinkSync(path);
    }
  } catch {
    // another run removed it first, or the folder is not ours any more: nobody is there to fix it while a process stops
  }
}

/** Returns what is at the path; a path that cannot be looked at holds nothing, and listening on it reports why. */
function kindOf(path: string): 'socket' | 'other' | 'nothing' {
  try {
    return lstatSync(path).isSocket() ? 'socket' : 'other';
  } catch {
    return 'nothing';
  }
}
