import type { QueueFamily } from './define-job.ts';

const POOL_PATTERN = /^[a-z0-9][a-z0-9_-]{0,62}$/;

/** Returns whether an engine pool's name can be part of a queue's name. */
export function isPoolName(text: string): boolean {
  return POOL_PATTERN.test(text);
}

/** Returns the queue of a family; `generate` needs the engine pool it feeds. Throws RangeError for an invalid pool name. */
export function queueName(family: QueueFamily, pool?: string): string {
  if (family !== 'generate') {
    return family;
  }
  if (pool === undefined || !isPoolName(pool)) {
    throw new RangeError(`invalid engine pool name: ${pool}`);
  }
  return `generate-${pool}`;
}

/**
 * Returns the namespace of a queue's keys within the installation's prefix. Redis hashes the part in braces: the keys of one queue
 * share a cluster slot, as BullMQ's scripts require, while the queues are spread over the nodes.
 */
export function queuePrefix(prefix: string, queue: string): string {
  return `{${prefix}:${queue}}`;
}

/** Returns the engine pool that a queue feeds; null for other queues. */
export function poolOf(queue: string): string | null {
  return queue.startsWith('generate-') ? queue.slice('generate-'.length) : null;
}
