import type { QueueState } from '../../queues/queue-inspector.ts';
import type { QueueJson } from './queues.schema.ts';

export function presentQueue({ name, paused, restingMs, jobs }: QueueState): QueueJson {
  return { name, paused, resting_ms: restingMs, jobs };
}
