import { execFile, spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { promisify } from 'node:util';

const run = promisify(execFile);

/**
 * Pins processes, with all their threads and later children, to some of the machine's processors: `all`, or a list like `0` or `1-3`.
 * Returns false when that is not possible (no taskset, one processor).
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

/**
 * Keeps a processor busy during some work, at the lowest priority. Two processors may share a core, and then each is slower while the other
 * works, so measurements on one are comparable only while the other is always busy.
 */
export async function whileBusy<T>(processor: string, work: () => Promise<T>): Promise<T> {
  // ends when this process is gone, however that ended
  const endless = [process.execPath, '-e', 'const parent = process.ppid; while (process.ppid === parent);'];
  const busy = spawn('taskset', ['--cpu-list', processor, 'nice', '-n', '19', ...endless], {
    stdio: 'ignore',
  });
  busy.on('error', () => undefined);
  try {
    return await work();
  } finally {
    busy.kill('SIGKILL');
  }
}
