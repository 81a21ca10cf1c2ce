import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newUuid } from '../../src/lib/ids.ts';
import { imageOrder } from '../factories/task-order.ts';
import { TaskTest } from '../factories/task-test.ts';

let it: TaskTest;

beforeAll(async () => {
  it = await TaskTest.open();
});
afterAll(() => it?.close());

/** Submits like a request that was promised this id for its Idempotency-Key. */
function submit(generationId: string): Promise<string> {
  const context = {
    principal: it.who.principal,
    requestId: 'req_test',
    signal: new AbortController().signal,
    headers: {},
  };
  return it.stack.submits.submit(imageOrder(''), { ...context, generationId });
}

test('returns the same task, waiting or ended, and holds once when an order is resent after its first request died', async () => {
  const promised = newUuid();
  expect([await submit(promised), await submit(promised)]).toEqual([promised, promised]);
  expect(await it.openHolds()).toBe(1);
  const scope = { accountId: it.who.accountId, apiKeyId: null };
  expect(await it.stack.cancels.cancel(promised, scope)).toBe('canceled');
  expect(await submit(promised)).toBe(promised);
  expect(await it.openHolds()).toBe(0);
});
