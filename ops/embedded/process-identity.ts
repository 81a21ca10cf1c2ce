import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorCode } from './error-code.ts';

const POLL_MS = 20;

/** Returns whether the process is running. A zombie counts as gone: it no longer holds any file, port or memory. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return errorCode(error) === 'EPERM';
  }
  return statFields(pid)?.[0] !== 'Z';
}

/**
 * Returns a text that is unique to this process among all that ever had this pid, or undefined when it is not running. Pids are
 * reused quickly in containers, so a pid alone proves nothing.
 */
export function processIdentity(pid: number): string | undefined {
  if (!isAlive(pid)) {
    return undefined;
  }
  const started = statFields(pid)?.[19];
  if (started !== undefined) {
    return `${bootId()}-${started}`;
  }
  return processColumn(pid, 'lstart');
}

/** Returns the full command line of a running process, or an empty text when it cannot be read. */
export function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
  } catch {
    return processColumn(pid, 'command') ?? '';
  }
}

/** Waits until the process has exited. Resolves with false when it is still running after `timeoutMs`. */
export async function waitForExit(pid: number, timeoutMs: number): Promise<boolean> {
  const deadline = Date.now() + timeoutMs;
  while (isAlive(pid)) {
    if (Date.now() >= deadline) {
      return false;
    }
    await sleep(POLL_MS);
  }
  return true;
}

/** Sends the signal; it is no error if the process is already gone. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // Already gone, as intended.
  }
}

/** Sends each signal in turn and waits the given time. Resolves with true as soon as the process has exited. */
export async function stopProcess(
  pid: number,
  steps: readonly { signal: NodeJS.Signals; waitMs: number }[],
): Promise<boolean> {
  for (const step of steps) {
    sendSignal(pid, step.signal);
    if (await waitForExit(pid, step.waitMs)) {
      return true;
    }
  }
  return false;
}

function statFields(pid: number): string[] | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined;
  }
}

function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').slice(0, 8);
  } catch {
    return 'boot';
  }
}

function processColumn(pid: number, column: string): string | undefined {
  try {
    const output = execFileSync('ps', ['-ww', '-o', `${column}=`, '-p', String(pid)], {
      timeout: 5_000,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return output.toString().trim() || undefined;
  } catch {
    return undefined;
  }
}
