import { z } from 'zod';
import { listOf } from '../http/input/wire-shapes.ts';

export const hostParams = z.object({
  host: z
    .string()
    .regex(
      /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}(:[A-Za-z0-9][A-Za-z0-9._-]{0,62})?$/,
      'must be the name of a host',
    )
    .meta({ description: 'Name of the host' }),
});

const time = z.iso.datetime().nullable();
export const workerJson = z
  .object({
    host: z.string().meta({
      description:
        'WORKER_NAME, or the name of the host; behind `<token>:` that of a worker with a worker token',
    }),
    worker: z
      .string()
      .nullable()
      .meta({ description: 'Host and process; null for a drained host without a live worker' }),
    version: z.string().nullable().meta({ description: 'Release that it runs' }),
    queues: z.array(z.string()).meta({ description: 'Queues that it takes jobs of' }),
    away: z.array(z.string()).meta({
      description:
        'Pools that it takes no tasks for: it cannot reach their engine, or the engine is misconfigured',
    }),
    misconfigured: z.array(z.string()).meta({
      description: 'Those of them whose engine rejects every run until an operator fixes it',
    }),
    running: z.int().meta({ description: 'Tasks it has claimed' }),
    draining: z.enum(['operator', 'notice']).nullable().meta({
      description: 'Why it takes no work: an operator drained its host, or the host is about to be stopped',
    }),
    drained_by: z.string().nullable().meta({ description: 'Operator who drained the host' }),
    drained_at: time.meta({ description: 'When that was' }),
    started_at: time.meta({ description: 'When the process began' }),
    seen_at: time.meta({ description: 'When it last reported' }),
  })
  .meta({ id: 'Worker' });

export const workerListResponse = listOf(workerJson, 'Workers by host, and hosts that are drained');

export type WorkerJson = z.output<typeof workerJson>;
