import { expect, test } from '@jest/globals';
import { z } from 'zod';
import { JOBS } from './catalog.ts';
import { defineJob, jobOptions } from './define-job.ts';
import { queueName } from './queue-name.ts';

const ID = '01a1ff03-d613-b90b-6ffe-13d8e8629f1a';

function jobWithId(id: string) {
  const contract = defineJob({
    name: 'test.job',
    family: 'maintenance',
    payload: z.strictObject({}),
    jobId: () => id,
    timeoutMs: 1_000,
  });
  return () => jobOptions(contract, {});
}

test.each(['12345', 'a:b', '', 'a b', 'x'.repeat(129)])(
  'rejects the job id "%s", which BullMQ rejects or confuses',
  (id) => {
    expect(jobWithId(id)).toThrow(RangeError);
  },
);

test('every contract is filed under its own name, produces a valid id, and runs once per job', () => {
  for (const [name, contract] of Object.entries(JOBS)) {
    const payload = contract.payload.safeParse({ taskId: ID, dispatch: 1 }).success
      ? { taskId: ID, dispatch: 1 }
      : contract.payload.safeParse({ deliveryId: ID, dispatch: 1 }).success
        ? { deliveryId: ID, dispatch: 1 }
        : {};
    expect(contract.name).toBe(name);
    const options = jobOptions(contract as never, payload as never);
    expect(options).toMatchObject({ attempts: 1, sizeLimit: 4_096 });
  }
});

test('payloads hold only ids', () => {
  const payload = { taskId: ID, dispatch: 1 };
  expect(JOBS['tasks.generate'].payload.safeParse(payload).success).toBe(true);
  expect(JOBS['tasks.generate'].payload.safeParse({ ...payload, prompt: 'x' }).success).toBe(false);
  expect(JOBS['tasks.generate'].payload.safeParse({ ...payload, taskId: 'a river' }).success).toBe(false);
});

test('queue names', () => {
  expect(queueName('generate', 'gpu')).toBe('generate-gpu');
  expect(queueName('postprocess', 'ignored')).toBe('postprocess');
  expect(() => queueName('generate', 'a:b')).toThrow(RangeError);
  expect(() => queueName('generate')).toThrow(RangeError);
});
