import { join } from 'node:path';
import { afterEach, beforeAll, expect, jest, test } from '@jest/globals';
import type { TaskClaimsStore } from '../../src/tasks/task-claims.store.ts';
import { eventuallyHolds } from '../factories/eventually.ts';
import { ScriptedEngine, submitsOf } from '../factories/task-engine.ts';
import { submitImage } from '../factories/task-order.ts';
import { TaskTest } from '../factories/task-test.ts';
import { temporaryFolder } from '../factories/temporary-folder.ts';

/** The writes that a paid run depends on, each at a moment when the database does not answer. */

let it: TaskTest;
let journal: string;

beforeAll(async () => {
  journal = join(temporaryFolder('database-away'), 'journal');
  it = await TaskTest.open({ engine: new ScriptedEngine(journal, { paid: true }), runTimeoutMs: 500 });
  it.stack.start();
});

afterEach(() => {
  jest.restoreAllMocks();
});

afterAll(async () => {
  await it?.close();
});

type Write = 'markSubmitting' | 'storeReference' | 'markGenerated';

/** Fails the next `times` calls of a write: `refused` before it is made, `lost` after it has been committed. */
function fail(write: Write, how: 'refused' | 'lost', error: Error, times: number): void {
  const { claims } = it.stack;
  const real = claims[write].bind(claims) as (...values: unknown[]) => Promise<unknown>;
  let left = times;
  jest.spyOn(claims, write).mockImplementation((async (...values: unknown[]) => {
    const fails = left > 0;
    left -= 1;
    const answer = fails && how === 'refused' ? undefined : await real(...values);
    if (fails) {
      throw error;
    }
    return answer;
  }) as TaskClaimsStore[Write] as never);
}

const coded = (code: string): Error => Object.assign(new Error(code), { code });

test.each<[Write, 'refused' | 'lost', string]>([
  ['markSubmitting', 'refused', '57P03'],
  ['markSubmitting', 'lost', 'ECONNRESET'],
  ['storeReference', 'refused', 'ECONNREFUSED'],
  ['storeReference', 'lost', 'ECONNRESET'],
  ['markGenerated', 'refused', 'ECONNREFUSED'],
  ['markGenerated', 'refused', '25006'],
  ['markGenerated', 'refused', '55P03'],
  ['markGenerated', 'lost', '57P01'],
])('a paid run survives a %s that is %s: %s', async (write, how, code) => {
  // more tries than a run may take: the run is over, so its time limit no longer counts
  const times = write === 'markGenerated' && how === 'refused' ? 5 : 1;
  fail(write, how, coded(code), times);
  const id = await submitImage(it.stack, it.who, 'run=1');
  const { task } = await it.ended(id);
  expect(task).toMatchObject({ state: 'succeeded', failures: 0, generationRuns: 1 });
  expect(await it.events(id)).not.toContain('queued lease_lapsed');
  expect(submitsOf(journal, id)).toEqual([1]);
  expect(await it.charges(id)).toHaveLength(1);
  // a run whose reply was lost goes on after its task has ended, until it repeats the write or its heartbeat finds the claim gone
  await eventuallyHolds(() => expect(it.stack.leases.size).toBe(0));
  const isEnded = write === 'markGenerated' && how === 'lost';
  const calls = jest.mocked(it.stack.claims[write]).mock.calls.length;
  expect(calls).toBeGreaterThanOrEqual(isEnded ? 1 : times + 1);
  expect(calls).toBeLessThanOrEqual(times + 1);
});

test('a write that the database rejects for itself is not repeated', async () => {
  fail('markGenerated', 'refused', coded('23514'), 1);
  const id = await submitImage(it.stack, it.who, 'run=1');
  await it.ended(id);
  const { calls } = jest.mocked(it.stack.claims.markGenerated).mock;
  const attempts = calls.filter(([of]) => of === id).map(([, attempt]) => attempt);
  expect(attempts).toEqual([1, 2]);
});
