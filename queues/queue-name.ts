import type { QueueFamily } from './define-job.ts';

const POOL_PATTERN = /^[a-z0-9][a-z0-9_-]{0,62}$/;

/** Whether an engine pool's name can stand in a queue's name. */
export function isPoolName(text: string): boolean {
  return POOL_PATTERN.test(text);
}

/** The queue of a family; `generate` needs the engine pool it feeds. Throws RangeError for an impossible pool. */
export function queueName(family: QueueFamily, pool?: string): string {
  if (family !== 'generate') {
    return family;
  }
  if (pool === undefined || !isPoolName(pool)) {
    throw new RangeError(`engine pool ${pool} cannot name a queue`);
  }
  return `generate-${pool}`;
}

/**
 * Namespace of a queue's keys below the installation's prefix. Redis hashes what is in braces: the keys of one queue are in one slot of a
 * cluster, as BullMQ's scripts need them, and the queues are spread over its nodes.
 */
export function queuePrefix(prefix: string, queue: string): string {
  return `{${prefix}:${queue}}`;
}

/** The engine pool that a queue feeds; null for other queues. */
export function poolOf(queue: string): string | null {
  return queue.startsWith('generate-') ? queue.slice('generate-'.length) : null;
}
