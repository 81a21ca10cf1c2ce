import { closeSync, fsyncSync, mkdirSync, openSync, realpathSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, sep } from 'node:path';
import { isMainThread, parentPort, workerData } from 'node:worker_threads';
import { invariant } from '../lib/errors.ts';

/** A file on its way into the storage; both paths are absolute. */
export interface Placement {
  /** Where the file is written first. */
  readonly incoming: string;
  /** Where the file becomes visible. */
  readonly target: string;
  /** Undefined when the file is already at `incoming`, complete and synced. */
  readonly content: Uint8Array | undefined;
}

/** Why a file was not placed: the parts of a file system error that can be sent between threads. */
export interface PlacementFailure {
  readonly message: string;
  readonly code: string | undefined;
}

export const FILE_MODE = 0o640;
export const FOLDER_MODE = 0o750;
const FOLDER_TRIES = 5;

/**
 * Places files durably below `root`. Returns for each file, in order, why it was not placed. Every file takes a step before any takes the
 * next, so what the file system writes to its journal for the first file covers the others as well.
 */
export function placeFiles(root: string, files: readonly Placement[]): (PlacementFailure | undefined)[] {
  const failures: (PlacementFailure | undefined)[] = files.map(() => undefined);
  let underWay = files.map((file, index) => ({ index, steps: place(root, file) }));
  while (underWay.length > 0) {
    underWay = underWay.filter(({ index, steps }) => {
      try {
        return steps.next().done !== true;
      } catch (error) {
        const { message, code } = error as NodeJS.ErrnoException;
        failures[index] = { message, code };
        return false;
      }
    });
  }
  return failures;
}

function* place(root: string, { incoming, target, content }: Placement): Generator<void, void, void> {
  if (content) {
    const file = openSync(incoming, 'wx', FILE_MODE);
    try {
      writeFileSync(file, content);
      yield;
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    yield;
  }
  moveInto(root, incoming, target);
  yield;
  syncFolder(dirname(target));
}

/** Retries because deleting another task's last file may remove an empty folder at the very moment this file needs it. */
function moveInto(root: string, incoming: string, target: string): void {
  for (let again = FOLDER_TRIES; ; again -= 1) {
    try {
      mkdirSync(dirname(target), { recursive: true, mode: FOLDER_MODE });
      const real = realpathSync.native(dirname(target));
      invariant(real.startsWith(root + sep), 'a stored object lies inside its root');
      renameSync(incoming, target);
      return;
    } catch (error) {
      if (again === 0 || (error as NodeJS.ErrnoException).code !== 'ENOENT') {
        throw error;
      }
    }
  }
}

// A rename is durable only once its folder is synced.
function syncFolder(path: string): void {
  const folder = openSync(path, 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

if (!isMainThread && parentPort) {
  const port = parentPort;
  const root = workerData as string;
  port.on('message', (files: readonly Placement[]) => port.postMessage(placeFiles(root, files)));
}
