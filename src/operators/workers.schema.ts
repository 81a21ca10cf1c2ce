import { z } from 'zod';

export const hostParams = z.object({
  host: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, 'must be the name of a host'),
});

const time = z.iso.datetime().nullable();
export const workerJson = z
  .object({
    host: z.string().meta({ description: 'WORKER_NAME, or the name of the host' }),
    worker: z
      .string()
      .nullable()
      .meta({ description: 'Host and process; null for a drained host without a live worker' }),
    version: z.string().nullable(),
    queues: z.array(z.string()),
    away: z.array(z.string()).meta({ description: 'Pools whose engine is away from it' }),
    running: z.int().meta({ description: 'Tasks it has claimed' }),
    draining: z.enum(['operator', 'notice']).nullable().meta({
      description: 'Why it takes no work: an operator drained its host, or its host is about to go',
    }),
    drained_by: z.string().nullable(),
    drained_at: time,
    started_at: time,
    seen_at: time,
  })
  .meta({ id: 'Worker' });

const requestId = z.string();
export const workerListResponse = z.strictObject({ data: z.array(workerJson), request_id: requestId });

export type WorkerJson = z.output<typeof workerJson>;
