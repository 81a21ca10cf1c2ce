import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Logger } from '../lib/logger.ts';

/** The oldest version that distributions still patch. Older decoders have known vulnerabilities, and we decode untrusted files. */
const MAJOR_MIN = 5;
/** The year of that release. Builds between releases state no version, only the year. */
const YEAR_MIN = 2022;
const TIMEOUT_MS = 10_000;

const run = promisify(execFile);

/** Logs a warning if ffmpeg is too old for untrusted files or cannot be run. Never rejects. */
export async function warnOfOldFfmpeg(path: string, log: Logger): Promise<void> {
  try {
    const { stdout } = await run(path, ['-version'], { timeout: TIMEOUT_MS });
    const [banner = ''] = stdout.split('\n', 1);
    if (isOldFfmpeg(banner)) {
      log.warn({ path, banner }, `ffmpeg is older than ${MAJOR_MIN}: install a newer one or set FFMPEG_PATH`);
    }
  } catch (error) {
    log.warn(
      { path, error },
      'ffmpeg cannot be run, so no videos can be generated: install it or set FFMPEG_PATH',
    );
  }
}

/** Returns whether the first line of `ffmpeg -version` is from an outdated version. */
export function isOldFfmpeg(banner: string): boolean {
  const major = /^ffmpeg version n?(\d+)\./.exec(banner)?.[1];
  if (major !== undefined) {
    return Number(major) < MAJOR_MIN;
  }
  const year = /\(c\) \d+-(\d+)/.exec(banner)?.[1];
  return year !== undefined && Number(year) < YEAR_MIN;
}
