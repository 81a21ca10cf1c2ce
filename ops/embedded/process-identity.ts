import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorCode } from './error-code.ts';

const POLL_MS = 20;

/** True while the process runs. A zombie counts as gone: it holds no file, port or memory any more. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return errorCode(error) === 'EPERM';
  }
  return statFields(pid)?.[0] !== 'Z';
}

/**
 * A text that differs for every process that ever had this pid, or undefined when it does not run.
 * Pids come back quickly in containers, so a pid alone proves nothing.
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

/** The full command line of a running process, or an empty text when it cannot be read. */
export function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
  } catch {
    return processColumn(pid, 'command') ?? '';
  }
}

/** Waits until the process is gone; false when it still runs after `timeoutMs`. */
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

/** Sends the signal; a process that is already gone is no error. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // Already gone: what was wanted.
  }
}

/** Sends each signal in turn and waits its time; true as soon as the process is gone. */
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
