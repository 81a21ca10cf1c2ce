import { once } from 'node:events';
import { lstatSync, unlinkSync } from 'node:fs';
import { connect } from 'node:net';
import { ConfigError, UnavailableError } from '../config/config-error.ts';

/**
 * Removes the socket left behind by a killed process, so that the path can be listened on again. Touches nothing, and throws ConfigError
 * if something other than a socket is there (a mistyped path must not cost a file), UnavailableError if a process serves it: without its
 * file that process would run on, and nobody would reach it.
 */
export async function removeOldSocket(path: string): Promise<void> {
  const found = kindOf(path);
  if (found === 'other') {
    throw new ConfigError(
      `LISTEN_SOCKET: ${path} exists and is not a socket: name another path, or remove what is there`,
    );
  }
  if (found === 'socket') {
    if (await isServed(path)) {
      throw new UnavailableError(`LISTEN_SOCKET: another process listens on ${path}`);
    }
    unlinkSync(path);
  }
}

/** A process that is too busy to accept a connection (EAGAIN) serves the socket, too. */
async function isServed(path: string): Promise<boolean> {
  const connection = connect(path);
  try {
    await once(connection, 'connect');
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EAGAIN';
  } finally {
    connection.destroy();
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
