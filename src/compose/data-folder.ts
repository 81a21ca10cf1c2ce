import { constants } from 'node:fs';
import { access, mkdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ConfigError, UnavailableError } from '../config/config-error.ts';
import type { Loop } from '../lib/every.ts';
import type { Logger } from '../lib/logger.ts';
import { incomingFolderOf } from '../media/media-root.ts';
import { keepSwept } from '../media/temporary-folder.ts';

/** Only the account that works in it may read what it does. */
export const WORK_FOLDER_MODE = 0o700;

/** A disk that is full may have room again at the next start. */
const FULL = new Set(['ENOSPC', 'EDQUOT']);

/** Returns the folder in which a worker keeps the files of running tasks. */
export function workFolderOf({ dataFolder }: { readonly dataFolder: string }): string {
  return join(dataFolder, 'work');
}

/** Returns the folder in which an API assembles uploads. */
export function uploadFolderOf({ dataFolder }: { readonly dataFolder: string }): string {
  return join(dataFolder, 'uploads');
}

/** Returns the folder in which media are stored, unless they are stored elsewhere. */
export function mediaFolderOf({ dataFolder }: { readonly dataFolder: string }): string {
  return join(dataFolder, 'media');
}

/** Keeps removing what killed processes left in the folders of temporary files, until closed. */
export function removeLeftovers(config: { readonly dataFolder: string }, log: Logger): Loop {
  return keepSwept(
    [workFolderOf(config), uploadFolderOf(config), incomingFolderOf(mediaFolderOf(config))],
    log,
  );
}

/**
 * Creates a folder below DATA_DIR if it is missing, and checks that this process may write to it. Throws ConfigError if it cannot be used,
 * UnavailableError if the disk is full.
 */
export async function prepareFolder(path: string, mode: number): Promise<void> {
  try {
    await createFolder(path, mode);
    await access(path, constants.W_OK | constants.X_OK);
  } catch (error) {
    const { code = String(error) } = error as NodeJS.ErrnoException;
    throw FULL.has(code)
      ? new UnavailableError(`DATA_DIR: the disk that holds ${path} is full: free some space`)
      : new ConfigError(
          `DATA_DIR: ${path} cannot be used (${code}): name a folder that this account may write to`,
        );
  }
}

/** Creates one level at a time: where the system refuses every folder (/proc), the recursive mkdir of Node tries for ever. */
async function createFolder(path: string, mode: number): Promise<void> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') {
      throw error;
    }
    return undefined;
  });
  if (found?.isDirectory() === false) {
    throw Object.assign(new Error(`${path} is not a folder`), { code: 'ENOTDIR' });
  }
  if (found === undefined) {
    await createFolder(dirname(path), mode);
    // other processes that start beside this one create it, too
    await mkdir(path, { mode }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') {
        throw error;
      }
    });
  }
}
