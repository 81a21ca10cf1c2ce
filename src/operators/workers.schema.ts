import { z } from 'zod';
import { listOf } from '../http/input/wire-shapes.ts';

export const hostParams = z.object({
  host: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}(:[A-Za-z0-9][A-Za-z0-9._-]{0,62})?$/, 'must be a host name')
    .meta({ description: 'Name of the host' }),
});

const time = z.iso.datetime().nullable();
export const workerJson = z
  .object({
    host: z.string().meta({
      description:
        'WORKER_NAME, or the name of the host; prefixed by `<token>:` for workers with a worker token',
    }),
    worker: z
      .string()
      .nullable()
      .meta({ description: 'Host and process; null for a drained host without a live worker' }),
    version: z.string().nullable().meta({ description: 'Release it runs' }),
    queues: z.array(z.string()).meta({ description: 'Queues it takes jobs from' }),
    away: z.array(z.string()).meta({
      description: 'Pools it takes no tasks for, because their engine is unreachable or misconfigured',
    }),
    misconfigured: z.array(z.string()).meta({
      description: 'The pools in `away` whose engine rejects every run until an operator fixes it',
    }),
    running: z.int().meta({ description: 'Tasks it has claimed' }),
    draining: z.enum(['operator', 'notice']).nullable().meta({
      description: 'Why it takes no work: an operator drained its host, or its host is about to be stopped',
    }),
    drained_by: z.string().nullable().meta({ description: 'Operator who drained the host' }),
    drained_at: time.meta({ description: 'When the host was drained' }),
    started_at: time.meta({ description: 'When the process started' }),
    seen_at: time.meta({ description: 'When it last reported' }),
  })
  .meta({ id: 'Worker' });

export const workerListResponse = listOf(workerJson, 'Workers by host, and drained hosts');

export type WorkerJson = z.output<typeof workerJson>;
