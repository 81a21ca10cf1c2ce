import { readFileSync, statfsSync } from 'node:fs';
import { findFfmpeg } from '../../ops/embedded/ffmpeg.ts';
import { ownTemporaryFolder } from '../factories/temporary-folder.ts';
import { layOut } from './compiled.ts';
import { guardServices } from './test-services.ts';

const MEMORY_FOLDER = '/dev/shm';
/** Bytes of memory that must be free: a run's files take less than half of them. */
const MEMORY_FREE_MIN = 8 * 2 ** 30;

/**
 * Tells the test files where ffmpeg and ffprobe are, where the compiled programs of this repository are, and where temporary files cost
 * least.
 */
export default async function prepareRun(): Promise<void> {
  if (process.env.TMPDIR === undefined && process.env.TEST_DURABLE !== '1' && takesFiles(MEMORY_FOLDER)) {
    process.env.TMPDIR = MEMORY_FOLDER;
  }
  const { ffmpeg, ffprobe } = findFfmpeg(process.env);
  process.env.FFMPEG_PATH = ffmpeg;
  process.env.FFPROBE_PATH = ffprobe;
  if (process.env.TEST_COMPILED_FOLDER === undefined) {
    const folder = ownTemporaryFolder('compiled');
    guardServices(folder);
    await layOut(folder, 'tsconfig.json');
    process.env.TEST_COMPILED_FOLDER = folder;
  }
}

/**
 * Returns whether there is plenty of memory for files at the path, and programs may run from there. Each test file gets a database of 500
 * files, and ext4 looks over the inodes that were deleted within the last minutes before it hands out another one: creating a database
 * took 0.6 s instead of 0.07.
 */
function takesFiles(path: string): boolean {
  if (process.platform !== 'linux' || process.availableMemory() < MEMORY_FREE_MIN) {
    return false;
  }
  const mounts = readFileSync('/proc/mounts', 'utf8').split('\n');
  const mount = mounts.map((line) => line.split(' ')).find(([, at, kind]) => at === path && kind === 'tmpfs');
  if (!mount || mount[3]?.split(',').includes('noexec')) {
    return false;
  }
  const { bavail, bsize } = statfsSync(path);
  return bavail * bsize >= MEMORY_FREE_MIN / 2;
}
