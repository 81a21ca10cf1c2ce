import type { ChildExit } from './child-watch.ts';
import { MediaError } from './media-error.ts';

const TAIL_LINES = 8;
const LINE_CHARACTERS_MAX = 240;
/** Exit code of ffmpeg after a signal that it handles, such as SIGTERM of a service manager. */
const ENDED_BY_SIGNAL = 255;

/** Returns the last lines of a tool's error output, without the folder names of this machine. */
export function errorTail(lines: readonly string[]): string {
  return lines
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .slice(-TAIL_LINES)
    .map((line) => line.replace(/(?:\/[^\s/:'"]+)*\/(?=[^\s/:'"]+)/g, '').slice(0, LINE_CHARACTERS_MAX))
    .join(' | ');
}

/** Returns what to throw for an exit (the signal's reason after an abort), or undefined for success. */
export function toolFailure(
  tool: string,
  exit: ChildExit,
  lines: readonly string[],
  signal: AbortSignal,
): unknown {
  if (exit.stopped === 'aborted') {
    return signal.reason;
  }
  if (exit.stopped === 'timeout') {
    return new MediaError('media_tool_timeout', `${tool} took too long`);
  }
  if (exit.stopped === 'stalled') {
    return new MediaError('media_tool_stalled', `${tool} made no progress`);
  }
  if (exit.code === 0) {
    return undefined;
  }
  if (exit.code === null || exit.code === ENDED_BY_SIGNAL) {
    return new MediaError('media_tool_killed', `${tool} was ended by ${exit.killedBy ?? 'a signal'}`);
  }
  return new MediaError('media_tool_failed', `${tool} failed (exit code ${exit.code}): ${errorTail(lines)}`);
}
