import { execFile } from 'node:child_process';
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ownTemporaryFolder } from '../factories/temporary-folder.ts';

const run = promisify(execFile);
const SIZE = '512m';
/** What else is on the disk takes every byte that comes free. */
const REFILL_MS = 200;
const BLOCK_BYTES = [1024 * 1024, 4096];

/** A file system of its own that can be filled to the last byte. */
export interface SmallDisk {
  readonly folder: string;
  /** Takes all space there is, and goes on taking what comes free. */
  fill(): void;
  /** Gives it back. */
  free(): void;
  close(): Promise<void>;
}

/** Mounts one in memory; undefined where this account may not mount anything. */
export async function mountSmallDisk(): Promise<SmallDisk | undefined> {
  const folder = ownTemporaryFolder('small-disk');
  try {
    await run('mount', ['-t', 'tmpfs', '-o', `size=${SIZE},mode=755`, 'tollgate-small-disk', folder]);
  } catch {
    await rm(folder, { recursive: true, force: true });
    return undefined;
  }
  const ballast = join(folder, 'ballast');
  mkdirSync(join(folder, 'data'), { mode: 0o711 });
  let refill: NodeJS.Timeout | undefined;
  return {
    folder: join(folder, 'data'),
    fill: () => {
      takeAll(ballast);
      refill = setInterval(() => takeAll(ballast), REFILL_MS);
    },
    free: () => {
      clearInterval(refill);
      rmSync(ballast, { force: true });
    },
    close: async () => {
      clearInterval(refill);
      await run('umount', [folder]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function takeAll(path: string): void {
  const file = openSync(path, 'a');
  try {
    for (const bytes of BLOCK_BYTES) {
      writeUntilFull(file, Buffer.alloc(bytes, 1));
    }
  } finally {
    closeSync(file);
  }
}

function writeUntilFull(file: number, block: Buffer): void {
  for (;;) {
    try {
      writeSync(file, block);
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOSPC') {
        return;
      }
      throw error;
    }
  }
}
