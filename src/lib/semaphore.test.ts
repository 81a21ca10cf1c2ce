import { expect, test } from '@jest/globals';
import { Semaphore } from './semaphore.ts';

const { signal: never } = new AbortController();

function deferred() {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

test('runs as many at once as there are permits, and the others in order', async () => {
  const semaphore = new Semaphore(2);
  const gates = Array.from({ length: 4 }, deferred);
  const began: number[] = [];
  const all = gates.map((gate, number) =>
    semaphore.run(async () => {
      began.push(number);
      await gate.promise;
    }, never),
  );
  await Promise.resolve();
  expect(began).toEqual([0, 1]);
  gates[1]?.resolve();
  await all[1];
  await new Promise(setImmediate);
  expect(began).toEqual([0, 1, 2]);
  for (const gate of gates) {
    gate.resolve();
  }
  await Promise.all(all);
  expect(began).toEqual([0, 1, 2, 3]);
});

test('work that fails releases its permit', async () => {
  const semaphore = new Semaphore(1);
  await expect(
    semaphore.run(async () => {
      throw new Error('broken');
    }, never),
  ).rejects.toThrow('broken');
  await expect(semaphore.run(async () => 'fine', never)).resolves.toBe('fine');
});

test('work aborted while waiting takes no turn', async () => {
  const semaphore = new Semaphore(1);
  const gate = deferred();
  const first = semaphore.run(() => gate.promise, never);
  const leaving = new AbortController();
  const second = semaphore.run(async () => 'never', leaving.signal);
  const third = semaphore.run(async () => 'third', never);
  leaving.abort(new Error('gone'));
  await expect(second).rejects.toThrow('gone');
  gate.resolve();
  await first;
  await expect(third).resolves.toBe('third');
});

test('gives up on a permit that is not released in time, which then goes to the next in line', async () => {
  const semaphore = new Semaphore(1);
  expect(await semaphore.enterWithin(1)).toBe(true);
  expect(await semaphore.enterWithin(1)).toBe(false);
  const next = semaphore.enterWithin(60_000);
  semaphore.leave();
  expect(await next).toBe(true);
});
