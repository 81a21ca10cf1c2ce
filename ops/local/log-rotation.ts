import {
  appendFileSync,
  closeSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
} from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { logSize } from '../embedded/service-log.ts';

/** A log is one live file and so many older ones, `<name>.1` the newest of them. */
const OLDER_FILES = 4;
/** At 1,000 calls a second the API writes 400 kB between two looks. */
const LOOK_EVERY_MS = 1_000;
const TAIL_BYTES = 65_536;

/** Bounds logs that other processes write until closed. */
export interface LogRotation {
  /** Looks no more; resolves when a rotation that was under way has ended. */
  close(): Promise<void>;
}

/**
 * Keeps each log within `bytesMax` over all its files, but for what is written between two looks. The live file is copied, then emptied:
 * its writers inherited its descriptor, so a file that is renamed would take their last words with it, a crash report above all. Lines
 * written in the microseconds between the last copy and the emptying are lost.
 */
export function rotateLogs(
  paths: readonly string[],
  bytesMax: number,
  lookEveryMs = LOOK_EVERY_MS,
): LogRotation {
  let rotating: Promise<void> = Promise.resolve();
  let busy = false;
  const look = async () => {
    for (const path of paths) {
      await rotateLog(path, bytesMax / (OLDER_FILES + 1)).catch(() => {
        // A full disk: the processes that write there say so themselves.
      });
    }
    busy = false;
  };
  const timer = setInterval(() => {
    if (!busy) {
      busy = true;
      rotating = look();
    }
  }, lookEveryMs);
  return {
    close: async () => {
      clearInterval(timer);
      await rotating;
    },
  };
}

/** Moves the content of a log that is above so many bytes to `<path>.1`. Throws what the file system says. */
async function rotateLog(path: string, bytesMax: number): Promise<void> {
  if (logSize(path) <= bytesMax) {
    return;
  }
  const copy = `${path}.copy`;
  // the oldest goes first: the copy takes its room
  rmSync(`${path}.${OLDER_FILES}`, { force: true });
  await copyFile(path, copy);
  appendTail(path, copy);
  truncateSync(path, 0);
  for (let age = OLDER_FILES - 1; age >= 1; age -= 1) {
    if (statSync(`${path}.${age}`, { throwIfNoEntry: false })) {
      renameSync(`${path}.${age}`, `${path}.${age + 1}`);
    }
  }
  renameSync(copy, `${path}.1`);
}

/** Adds what was written while the file was copied. */
function appendTail(path: string, copy: string): void {
  const buffer = Buffer.alloc(TAIL_BYTES);
  const descriptor = openSync(path, 'r');
  try {
    let position = logSize(copy);
    for (;;) {
      const bytes = readSync(descriptor, buffer, 0, buffer.length, position);
      if (bytes === 0) {
        return;
      }
      appendFileSync(copy, buffer.subarray(0, bytes));
      position += bytes;
    }
  } finally {
    closeSync(descriptor);
  }
}
