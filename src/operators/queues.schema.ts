import { z } from 'zod';
import { answerOf, listOf } from '../http/input/wire-shapes.ts';

export const queueParams = z.object({
  name: z.string().min(1).max(100).meta({ description: 'Name of the queue, e.g. generate-local' }),
});

export const queueJson = z
  .object({
    name: z.string().meta({ description: 'Name of the queue' }),
    paused: z.boolean().meta({ description: 'true: an operator paused it; jobs wait until it is resumed' }),
    resting_ms: z.int().meta({
      description: 'An upstream asked for a pause of this length; then the queue resumes by itself',
    }),
    backlog: z.int().meta({
      description: 'Tasks or deliveries that wait in the database for it, handed to it or not',
    }),
    oldest_seconds: z.int().nullable().meta({ description: 'Age of the oldest of them' }),
    workers: z
      .int()
      .meta({ description: 'Live worker processes that take its jobs now; 0: waiting jobs stay' }),
    slots: z.int().meta({ description: 'Jobs that they run at once' }),
    jobs: z
      .object({
        waiting: z.int().meta({ description: 'Can be taken now' }),
        active: z.int().meta({ description: 'Running now' }),
        delayed: z.int().meta({ description: 'Not before a later time' }),
        completed: z.int().meta({ description: 'Completed recently; only the last are kept' }),
        failed: z.int().meta({ description: 'Failed recently; only the last are kept' }),
      })
      .meta({ description: 'How many there are of each state' }),
  })
  .meta({ id: 'Queue' });

export const queueListResponse = listOf(queueJson, 'All queues of this installation');
export const queueResponse = answerOf(queueJson, 'The queue as it stands now');

export type QueueJson = z.output<typeof queueJson>;
