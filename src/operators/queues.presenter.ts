import type { QueueJson } from './queues.schema.ts';
import type { StandingQueue } from './queues.service.ts';

export function presentQueue({ name, paused, restingMs, jobs, standing }: StandingQueue): QueueJson {
  const { backlog, oldest_seconds, workers, slots } = standing;
  return { name, paused, resting_ms: restingMs, backlog, oldest_seconds, workers, slots, jobs };
}
