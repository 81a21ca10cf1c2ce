import { closeSync, openSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorCode } from '../embedded/error-code.ts';
import { processIdentity, stopProcess } from '../embedded/process-identity.ts';
import { explainFileError, StartFailure } from '../embedded/start-failure.ts';

type Holder = { pid: number; identity: string };

type LockContent = Holder & { startedAt: string; stopping: boolean; children: Holder[] };

export type InstanceLock = {
  /** Whether the previous run ended without cleaning up. */
  recovered: boolean;
  /** Remembers a child process, so that the next start can stop it if this process dies. */
  addChild: (pid: number) => void;
  /** Makes a start that begins now wait instead of giving up. */
  markStopping: () => void;
  release: () => void;
};

export type InstanceLockOptions = {
  /** Called when it waits for an instance that is stopping. */
  onWait?: () => void;
  /** How long an instance whose npm has just exited may take to notice that, in ms. */
  noticeWaitMs?: number;
};

const LOCK_NAME = 'tollgate.lock';
const STOPPING_WAIT_MS = 45_000;
const NOTICE_WAIT_MS = 1_500;
const HALF_WRITTEN_MS = 2_000;
const ORPHAN_STEPS = [
  { signal: 'SIGTERM', waitMs: 5_000 },
  { signal: 'SIGKILL', waitMs: 5_000 },
] as const;

/**
 * Makes this process the only one that uses the data folder. Takes over the lock of a dead process and stops what that process
 * left running. Throws StartFailure when another instance is alive.
 */
export async function acquireInstanceLock(
  dataDir: string,
  { onWait, noticeWaitMs = NOTICE_WAIT_MS }: InstanceLockOptions = {},
): Promise<InstanceLock> {
  const path = join(dataDir, LOCK_NAME);
  const content: LockContent = {
    pid: process.pid,
    identity: processIdentity(process.pid) ?? '',
    startedAt: new Date().toISOString(),
    stopping: false,
    children: [],
  };
  const begin = Date.now();
  let recovered = false;
  let waiting = false;
  while (!tryCreate(path, content)) {
    const text = readText(path);
    const holder = parseLock(text);
    if (holder === undefined ? isHalfWritten(path) : isHeld(holder)) {
      const patienceMs = holder?.stopping === true ? STOPPING_WAIT_MS : noticeWaitMs;
      if (holder !== undefined && Date.now() - begin > patienceMs) {
        throw new StartFailure(
          `Tollgate already runs on ${dataDir} (process ${holder.pid}). Stop it with \`kill ${holder.pid}\`, or set DATA_DIR to another folder.`,
        );
      }
      if (!waiting && holder?.stopping === true) {
        waiting = true;
        onWait?.();
      }
      await sleep(100);
    } else if (moveAside(path, text)) {
      recovered = true;
      await endOrphans(holder?.children ?? []);
    }
  }
  return lockHandle(path, content, recovered);
}

function lockHandle(path: string, content: LockContent, recovered: boolean): InstanceLock {
  const save = () => {
    // Written atomically: a kill midway must not lose the list of children.
    writeFileSync(`${path}.new`, JSON.stringify(content), { mode: 0o600 });
    renameSync(`${path}.new`, path);
  };
  return {
    recovered,
    addChild: (pid) => {
      const identity = processIdentity(pid);
      if (identity !== undefined) {
        const alive = content.children.filter(isHeld);
        content.children = [...alive, { pid, identity }];
        save();
      }
    },
    markStopping: () => {
      content.stopping = true;
      save();
    },
    release: () => {
      if (parseLock(readText(path))?.identity === content.identity) {
        rmSync(path, { force: true });
      }
    },
  };
}

function tryCreate(path: string, content: LockContent): boolean {
  let descriptor: number;
  try {
    descriptor = openSync(path, 'wx', 0o600);
  } catch (error) {
    if (errorCode(error) === 'EEXIST') {
      return false;
    }
    throw explainFileError(error, path);
  }
  try {
    writeFileSync(descriptor, JSON.stringify(content));
    return true;
  } catch (error) {
    throw explainFileError(error, path);
  } finally {
    closeSync(descriptor);
  }
}

/** Removes the stale lock that was read. Returns false when another start was faster and the file is already a new one. */
function moveAside(path: string, expected: string): boolean {
  const aside = `${path}.stale-${process.pid}`;
  try {
    renameSync(path, aside);
  } catch {
    return false;
  }
  if (readText(aside) === expected) {
    rmSync(aside, { force: true });
    return true;
  }
  renameSync(aside, path);
  return false;
}

async function endOrphans(children: readonly Holder[]): Promise<void> {
  await Promise.all(children.filter(isHeld).map((child) => stopProcess(child.pid, ORPHAN_STEPS)));
}

function isHeld(holder: Holder): boolean {
  return processIdentity(holder.pid) === holder.identity;
}

function isHalfWritten(path: string): boolean {
  const written = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return Date.now() - written < HALF_WRITTEN_MS;
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function parseLock(text: string): LockContent | undefined {
  try {
    const parsed = JSON.parse(text) as Partial<LockContent>;
    if (typeof parsed.pid === 'number' && typeof parsed.identity === 'string') {
      return {
        pid: parsed.pid,
        identity: parsed.identity,
        startedAt: String(parsed.startedAt),
        stopping: parsed.stopping === true,
        children: Array.isArray(parsed.children) ? parsed.children : [],
      };
    }
  } catch {
    // Partially written, or cut off by a full disk.
  }
  return undefined;
}
