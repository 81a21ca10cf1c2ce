import { z } from 'zod';
import { answerOf, listOf } from '../http/input/wire-shapes.ts';

const name = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,39}$/, 'must have 1 to 40 lower-case letters, digits and dashes');

export const workerTokenParams = z.object({ token_name: name.meta({ description: 'Name of the token' }) });

export const createWorkerTokenBody = z
  .strictObject({
    name: name.meta({ description: 'Its workers are listed as <name>:<host>' }),
    pools: z
      .array(z.string().min(1).max(100))
      .min(1)
      .max(100)
      .meta({ description: 'Pools whose tasks it gives access to: engine ids in tollgate.yaml' }),
  })
  .meta({ id: 'CreateWorkerToken' });

const workerTokenJson = z
  .object({
    name: z.string().meta({ description: 'Its workers are listed as <name>:<host>' }),
    pools: z.array(z.string()).meta({ description: 'Pools whose tasks it gives access to' }),
    created_by: z.string().meta({ description: 'Operator who created it' }),
    created_at: z.iso.datetime().meta({ description: 'When it was created' }),
    last_used_at: z.iso
      .datetime()
      .nullable()
      .meta({ description: 'When a worker last used it, to the minute' }),
    revoked_at: z.iso.datetime().nullable().meta({ description: 'When it was revoked; null if it is valid' }),
  })
  .meta({ id: 'WorkerToken' });
export type WorkerTokenJson = z.output<typeof workerTokenJson>;

export const workerTokenResponse = answerOf(workerTokenJson, 'The token, without its secret');
export const createdWorkerTokenResponse = workerTokenResponse.extend({
  token: z.string().meta({ description: 'The secret, for WORKER_TOKEN; shown in this response only' }),
});
export const workerTokenListResponse = listOf(
  workerTokenJson,
  'Tokens, newest first, including revoked ones',
);
