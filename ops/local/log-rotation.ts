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

/** Number of older files beside the live one; `<name>.1` is the newest of them. */
const OLDER_FILES = 4;
/** Interval between checks, in ms. At 1,000 calls a second the API writes 400 kB in that time. */
const LOOK_EVERY_MS = 1_000;
const TAIL_BYTES = 65_536;

/** Limits the size of logs that other processes write, until closed. */
export interface LogRotation {
  /** Stops checking; resolves when a running rotation has finished. */
  close(): Promise<void>;
}

/**
 * Keeps each log within `bytesMax` over all its files, except for what is written between two checks. The live file is copied and
 * then truncated instead of renamed: its writers inherited its descriptor, so their last lines, crash reports above all, would
 * end up in the renamed file. Lines written in the microseconds between the end of the copy and the truncation are lost.
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
        // A full disk: the processes that write there report it themselves.
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

/** Moves the content of a log larger than `bytesMax` to `<path>.1`. Rethrows file-system errors. */
async function rotateLog(path: string, bytesMax: number): Promise<void> {
  if (logSize(path) <= bytesMax) {
    return;
  }
  const copy = `${path}.copy`;
  // the oldest file is deleted first, to make room for the copy
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

/** Appends what was written while the file was copied. */
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
