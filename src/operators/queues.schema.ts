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
      description: 'Remaining pause that an upstream asked for; then the queue resumes by itself',
    }),
    backlog: z.int().meta({
      description: 'Tasks or deliveries waiting for it in the database, dispatched to it or not',
    }),
    oldest_seconds: z.int().nullable().meta({ description: 'Age of the oldest of them' }),
    workers: z.int().meta({
      description: 'Live worker processes that currently take its jobs; 0: waiting jobs are not processed',
    }),
    slots: z.int().meta({ description: 'Jobs they can run at once' }),
    jobs: z
      .object({
        waiting: z.int().meta({ description: 'Ready to run' }),
        active: z.int().meta({ description: 'Running now' }),
        delayed: z.int().meta({ description: 'Scheduled for a later time' }),
        completed: z.int().meta({ description: 'Completed recently; only the newest are kept' }),
        failed: z.int().meta({ description: 'Failed recently; only the newest are kept' }),
      })
      .meta({ description: 'Number of jobs in each state' }),
  })
  .meta({ id: 'Queue' });

export const queueListResponse = listOf(queueJson, 'All queues of this installation');
export const queueResponse = answerOf(queueJson, 'The current state of the queue');

export type QueueJson = z.output<typeof queueJson>;
