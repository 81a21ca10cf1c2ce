import { readdirSync, readFileSync } from 'node:fs';

/** Length of one tick of `/proc/<pid>/stat`, in ms (USER_HZ is 100 on Linux). */
const TICK_MS = 10;

interface ProcessTimes {
  readonly parent: number;
  readonly ms: number;
}

/** Returns the processor time in ms that a process and its descendants have used, including ended ones; 0 without /proc. */
export function processorMs(pid: number): number {
  const times = readAll();
  const sum = (of: number): number =>
    (times.get(of)?.ms ?? 0) +
    [...times].filter(([, { parent }]) => parent === of).reduce((total, [child]) => total + sum(child), 0);
  return sum(pid);
}

/** Returns the running child processes of a process; none without /proc. */
export function childrenOf(pid: number): number[] {
  return [...readAll()].filter(([, { parent }]) => parent === pid).map(([child]) => child);
}

/** Functions that read processor time in ms, by name. */
export type Meters = Readonly<Record<string, () => number>>;

/** Starts counting. The returned function returns the ms of processor time that each meter counted since. */
export function startMeters(meters: Meters): () => [string, number][] {
  const before = Object.entries(meters).map(([name, read]) => ({ name, read, ms: read() }));
  return () => before.map(({ name, read, ms }) => [name, read() - ms]);
}

/** Returns the processor time in ms that this process itself has used. */
export function ownProcessorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

function readAll(): Map<number, ProcessTimes> {
  const times = new Map<number, ProcessTimes>();
  for (const name of namesOf('/proc')) {
    const found = /^\d+$/.test(name) ? read(`/proc/${name}/stat`) : undefined;
    if (found !== undefined) {
      times.set(Number(name), found);
    }
  }
  return times;
}

function namesOf(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Reads fields as in proc(5): 4 is the parent; 14–17 are the times of the process and of its ended children, in user and kernel mode. */
function read(path: string): ProcessTimes | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'latin1');
  } catch {
    return undefined;
  }
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
  return { parent: Number(fields[1]), ms: ticks * TICK_MS };
}
