import { z } from 'zod';

const count = z.int();

export const queueParams = z.object({ name: z.string().min(1).max(100) });

export const queueJson = z
  .object({
    name: z.string(),
    paused: z.boolean(),
    resting_ms: z
      .int()
      .meta({ description: 'An upstream asked for this much patience; then it goes on by itself' }),
    jobs: z.object({ waiting: count, active: count, delayed: count, completed: count, failed: count }),
  })
  .meta({ id: 'Queue' });

const requestId = z.string();
export const queueListResponse = z.strictObject({ data: z.array(queueJson), request_id: requestId });
export const queueResponse = z.strictObject({ data: queueJson, request_id: requestId });

export type QueueJson = z.output<typeof queueJson>;
