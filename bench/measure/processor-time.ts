import { readdirSync, readFileSync } from 'node:fs';

/** Ms of one tick of `/proc/<pid>/stat` (USER_HZ is 100 on Linux). */
const TICK_MS = 10;

interface ProcessTimes {
  readonly parent: number;
  readonly ms: number;
}

/** Ms of processor time that a process and those below it have used, ended ones included; 0 where there is no /proc. */
export function processorMs(pid: number): number {
  const times = readAll();
  const sum = (of: number): number =>
    (times.get(of)?.ms ?? 0) +
    [...times].filter(([, { parent }]) => parent === of).reduce((total, [child]) => total + sum(child), 0);
  return sum(pid);
}

/** The processes that a process has started and that run; none where there is no /proc. */
export function childrenOf(pid: number): number[] {
  return [...readAll()].filter(([, { parent }]) => parent === pid).map(([child]) => child);
}

/** What reads the ms of processor time of something, by its name. */
export type Meters = Readonly<Record<string, () => number>>;

/** The ms of processor time that each meter counts until the returned function is called. */
export function startMeters(meters: Meters): () => [string, number][] {
  const before = Object.entries(meters).map(([name, read]) => ({ name, read, ms: read() }));
  return () => before.map(({ name, read, ms }) => [name, read() - ms]);
}

/** Ms of processor time that this process has used itself. */
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

/** Fields as in proc(5): 4 parent, 14–17 time of the process and of its ended children, in user and kernel mode. */
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
