import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';

/** What a container may use, as cgroup v2 says it: `max 100000`, or microseconds of processor time in each period of so many. */
const LIMIT_FILE = '/sys/fs/cgroup/cpu.max';

/** Cores that this process may use, at least 1. Node 20 does not know the limit of a container. */
export function processorCores(): number {
  return coresWithin(availableParallelism(), readLimit());
}

/** So many of `cores` as a limit of cgroup v2 leaves, at least 1. */
export function coresWithin(cores: number, limit: string): number {
  const [quota, period] = limit.split(' ').map(Number);
  const allowed = quota && period ? Math.floor(quota / period) : cores;
  return Math.max(1, Math.min(cores, allowed));
}

function readLimit(): string {
  try {
    return readFileSync(LIMIT_FILE, 'utf8');
  } catch {
    // another system, an older cgroup, or none: no limit is known
    return 'max';
  }
}
