import { randomBytes } from 'node:crypto';
import { mkdirSync, readlinkSync } from 'node:fs';
import { mkdir, readdir, rm, rmdir, stat, unlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../lib/clock.ts';
import { every, type Loop } from '../lib/every.ts';
import type { Logger } from '../lib/logger.ts';

const SWEEP_EVERY_MS = 3_600_000;
/** Age in ms beyond which any folder is stale. Longer than any task may run. */
const STALE_AFTER_MS = 24 * 3600_000;
/** Distinguishes this process from an earlier one with the same pid, such as the first process of a container. */
const RUN_ID = randomBytes(6).toString('hex');
/** Containers may share a hostname and this folder, but the ids of their processes mean something only within each. */
const PLACE = `${hostLabel()}${processNamespace()}`;
const NAME_PATTERN = /^(?<host>[A-Za-z0-9-]+)\.(?<pid>\d+)\.(?<run>[0-9a-f]{12})\./;

/**
 * Calls `fn` with an empty folder below `base` and removes the folder afterwards in any case. `fn` must not settle before its child
 * processes are gone.
 */
export async function withTemporaryFolder<Result>(
  base: string,
  name: string,
  fn: (folder: string) => Promise<Result>,
): Promise<Result> {
  const folder = temporaryPath(base, name);
  await mkdir(folder, { mode: 0o700 }).catch(async () => {
    await mkdir(base, { recursive: true, mode: 0o700 });
    await mkdir(folder, { mode: 0o700 });
  });
  try {
    return await fn(folder);
  } finally {
    await removeFolder(folder);
  }
}

/** Like {@link withTemporaryFolder}, for work that may not need a folder: it is created when `fn` first asks for its path. */
export async function withFolderOnDemand<Result>(
  base: string,
  name: string,
  fn: (folder: () => string) => Promise<Result>,
): Promise<Result> {
  let folder: string | undefined;
  try {
    return await fn(() => {
      if (folder === undefined) {
        folder = temporaryPath(base, name);
        mkdirSync(folder, { recursive: true, mode: 0o700 });
      }
      return folder;
    });
  } finally {
    if (folder !== undefined) {
      await removeFolder(folder);
    }
  }
}

/** Returns a new path that names its owner, so what a dead process left behind can be recognized. */
export function temporaryPath(base: string, name: string): string {
  const label = name.replace(/[^A-Za-z0-9-]/g, '').slice(0, 60);
  const owner = `${PLACE}.${process.pid}.${RUN_ID}`;
  return join(base, `${owner}.${label}.${randomBytes(6).toString('hex')}`);
}

/** Removes a folder, with a fast path for the usual case of a few files and no subfolders. */
async function removeFolder(folder: string): Promise<void> {
  try {
    await Promise.all((await readdir(folder)).map((name) => unlink(join(folder, name))));
    await rmdir(folder);
  } catch {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** Sweeps folders now and every hour until closed. What other hosts left is recognized only by its age, so once is not enough. */
export function keepSwept(bases: readonly string[], log: Logger): Loop {
  const sweep = async (): Promise<void> => {
    for (const base of bases) {
      await sweepTemporaryFiles(base, systemClock.now()).then(
        (removed) => removed > 0 && log.info({ base, removed }, 'removed what dead processes left behind'),
        (error: unknown) => log.warn({ error, base }, 'a folder of temporary files could not be swept'),
      );
    }
  };
  const loop = every(SWEEP_EVERY_MS, sweep);
  void loop.runNow();
  return loop;
}

/**
 * Removes files and folders that dead processes left in `base`: those of this host, or of this container, whose process is not running, and
 * any of others older than a day. Others may share `base`, so their recent ones stay. Returns how many were removed.
 */
export async function sweepTemporaryFiles(base: string, nowMs: number): Promise<number> {
  const entries = await readdir(base, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') {
      return [];
    }
    throw error;
  });
  let removed = 0;
  for (const entry of entries) {
    const path = join(base, entry.name);
    if (NAME_PATTERN.test(entry.name) && (await isStale(path, entry.name, nowMs))) {
      await rm(path, { recursive: true, force: true, maxRetries: 3 });
      removed += 1;
    }
  }
  return removed;
}

async function isStale(path: string, name: string, nowMs: number): Promise<boolean> {
  const { host, pid, run } = NAME_PATTERN.exec(name)?.groups ?? {};
  if (host === PLACE && Number(pid) === process.pid) {
    // what this process uses stays, even when the clock jumps ahead
    return run !== RUN_ID;
  }
  if (host === PLACE && !isRunning(Number(pid))) {
    return true;
  }
  const stats = await stat(path).catch(() => undefined);
  return stats !== undefined && nowMs - stats.mtimeMs > STALE_AFTER_MS;
}

function hostLabel(): string {
  return (
    hostname()
      .replace(/[^A-Za-z0-9-]/g, '-')
      .slice(0, 60) || 'host'
  );
}

/** Returns the number of the namespace of process ids (Linux, namespaces(7)), with a dash in front; empty elsewhere. */
function processNamespace(): string {
  try {
    const [number] = /\d+/.exec(readlinkSync('/proc/self/ns/pid')) ?? [];
    return number === undefined ? '' : `-${number}`;
  } catch {
    return '';
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it is running, under another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/**
 * Waits for concurrent work. Settles only when all of it has, so the folder it writes to is not removed too early. Throws the first error,
 * in the order of `work`.
 */
export async function runAllToEnd<Results extends readonly unknown[]>(
  work: {
    readonly [Index in keyof Results]: Promise<Results[Index]>;
  },
): Promise<Results> {
  const settled = await Promise.allSettled(work as readonly Promise<unknown>[]);
  const failed = settled.find((outcome) => outcome.status === 'rejected');
  if (failed) {
    throw failed.reason;
  }
  return settled.map((outcome) => (outcome as PromiseFulfilledResult<unknown>).value) as unknown as Results;
}
