import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Logger } from '../lib/logger.ts';

/** The oldest that distributions still mend: older decoders have known holes, and what they decode comes from strangers. */
const MAJOR_MIN = 5;
/** When that was released. Builds between releases tell no version, but the year. */
const YEAR_MIN = 2022;
const TIMEOUT_MS = 10_000;

const run = promisify(execFile);

/** Warns of an ffmpeg that is too old to be given files of strangers, or that cannot be run. Never rejects. */
export async function warnOfOldFfmpeg(path: string, log: Logger): Promise<void> {
  try {
    const { stdout } = await run(path, ['-version'], { timeout: TIMEOUT_MS });
    const [banner = ''] = stdout.split('\n', 1);
    if (isOldFfmpeg(banner)) {
      log.warn({ path, banner }, `ffmpeg is older than ${MAJOR_MIN}: install a newer one or set FFMPEG_PATH`);
    }
  } catch (error) {
    log.warn({ path, error }, 'ffmpeg cannot be run, so no video can be made: install it or set FFMPEG_PATH');
  }
}

/** Whether the first line of `ffmpeg -version` is that of an old one. */
export function isOldFfmpeg(banner: string): boolean {
  const major = /^ffmpeg version n?(\d+)\./.exec(banner)?.[1];
  if (major !== undefined) {
    return Number(major) < MAJOR_MIN;
  }
  const year = /\(c\) \d+-(\d+)/.exec(banner)?.[1];
  return year !== undefined && Number(year) < YEAR_MIN;
}
