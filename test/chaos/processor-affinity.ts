import { execFile } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { promisify } from 'node:util';

const run = promisify(execFile);

/**
 * Keeps processes on some of the machine's processors, `all` or a list like `0` or `1-3`, with every thread they have; children
 * they make later stay there too. Returns false where that cannot be done (no taskset, one processor).
 */
export async function pinProcesses(pids: readonly number[], processors: string): Promise<boolean> {
  const last = availableParallelism() - 1;
  if (last < 1) {
    return false;
  }
  const list = processors === 'all' ? `0-${last}` : processors;
  try {
    for (const pid of pids) {
      await run('taskset', ['--all-tasks', '--cpu-list', '--pid', list, String(pid)]);
    }
    return true;
  } catch {
    return false;
  }
}
