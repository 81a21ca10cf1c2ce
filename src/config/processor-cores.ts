import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';

/** CPU limit of the container in cgroup v2: `max 100000`, or the quota of CPU time per period, both in microseconds. */
const LIMIT_FILE = '/sys/fs/cgroup/cpu.max';

/** Returns the number of cores this process may use, at least 1. Node 20 ignores the limit of a container. */
export function processorCores(): number {
  return coresWithin(availableParallelism(), readLimit());
}

/** Returns how many of `cores` a cgroup v2 limit leaves, at least 1. */
export function coresWithin(cores: number, limit: string): number {
  const [quota, period] = limit.split(' ').map(Number);
  const allowed = quota && period ? Math.floor(quota / period) : cores;
  return Math.max(1, Math.min(cores, allowed));
}

function readLimit(): string {
  try {
    return readFileSync(LIMIT_FILE, 'utf8');
  } catch {
    // another operating system, cgroup v1 or no cgroup: the limit is unknown
    return 'max';
  }
}
