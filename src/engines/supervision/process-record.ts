import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';

/** A running process. Its start time (in ticks since boot) distinguishes it from a later process with the same id. */
const processSchema = z.object({ pid: z.int().min(2), startedAt: z.string() });
const recordSchema = z.object({ engine: processSchema, owner: processSchema });

export type ProcessRecord = z.output<typeof recordSchema>;
type RunningProcess = ProcessRecord['engine'];

const GONE_WITHIN_MS = 5_000;

/** Returns the process with that id; undefined when there is none, or on systems other than Linux, which do not tell. */
export async function identify(pid: number): Promise<RunningProcess | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  // The process name is in parentheses and may contain spaces.
  const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const startedAt = fields[18];
  return startedAt === undefined || state === 'Z' ? undefined : { pid, startedAt };
}

/** Records which engine process runs for which worker. */
export async function writeRecord(path: string, record: ProcessRecord): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o750 });
  await writeFile(`${path}.new`, JSON.stringify(record), { mode: 0o640 });
  await rename(`${path}.new`, path);
}

/** Deletes a record. A missing one is not an error. */
export async function removeRecord(path: string): Promise<void> {
  await rm(path, { force: true });
}

/**
 * Kills the engine process that a dead worker left behind, because it would keep the GPU's memory. Returns the worker when it is still
 * alive, so the place is taken.
 */
export async function clearLeftover(path: string): Promise<RunningProcess | undefined> {
  const record = await readRecord(path);
  if (record === undefined) {
    return undefined;
  }
  if (await isAlive(record.owner)) {
    return record.owner.pid === process.pid ? undefined : record.owner;
  }
  const deadline = performance.now() + GONE_WITHIN_MS;
  while ((await isAlive(record.engine)) && performance.now() < deadline) {
    killGroup(record.engine.pid, 'SIGKILL');
    await delay(50);
  }
  await removeRecord(path);
  return undefined;
}

/** Signals a process and its children, which are all in its process group. */
export function killGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // It is already gone.
  }
}

async function readRecord(path: string): Promise<ProcessRecord | undefined> {
  try {
    return recordSchema.parse(JSON.parse(await readFile(path, 'utf8')));
  } catch {
    return undefined;
  }
}

async function isAlive(known: RunningProcess): Promise<boolean> {
  return (await identify(known.pid))?.startedAt === known.startedAt;
}
