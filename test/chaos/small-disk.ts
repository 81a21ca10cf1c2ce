import { execFile } from 'node:child_process';
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ownTemporaryFolder } from '../factories/temporary-folder.ts';

const run = promisify(execFile);
const SIZE = '512m';
/** Interval at which freed space is filled again, as by other data on the disk, in ms. */
const REFILL_MS = 200;
const BLOCK_BYTES = [1024 * 1024, 4096];

/** A separate file system that can be filled to the last byte. */
export interface SmallDisk {
  readonly folder: string;
  /** Takes all free space, and keeps taking what becomes free. */
  fill(): void;
  /** Gives the space back. */
  free(): void;
  close(): Promise<void>;
}

/** Mounts a small disk in memory. Returns undefined when this user may not mount anything. */
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
