import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { every } from './every.ts';

beforeEach(() => {
  jest.useFakeTimers();
});

afterEach(() => {
  jest.useRealTimers();
});

/** A run that the test ends explicitly. */
function controlledRun() {
  const ends: (() => void)[] = [];
  let running = 0;
  let most = 0;
  const run = (): Promise<void> => {
    running += 1;
    most = Math.max(most, running);
    return new Promise((resolve) => {
      ends.push(() => {
        running -= 1;
        resolve();
      });
    });
  };
  return { run, ends, started: () => ends.length, most: () => most };
}

test('runs at each interval, never two at once', async () => {
  const { run, ends, started, most } = controlledRun();
  const loop = every(100, run);
  await jest.advanceTimersByTimeAsync(350);
  expect(started()).toBe(1);
  ends[0]?.();
  await jest.advanceTimersByTimeAsync(100);
  expect(started()).toBe(2);
  ends[1]?.();
  await loop.close();
  expect(most()).toBe(1);
});

test('runNow runs after the run in flight', async () => {
  const { run, ends, started } = controlledRun();
  const loop = every(100, run);
  const first = loop.runNow();
  const second = loop.runNow();
  expect(started()).toBe(1);
  ends[0]?.();
  await first;
  await jest.advanceTimersByTimeAsync(0);
  expect(started()).toBe(2);
  ends[1]?.();
  await second;
  await loop.close();
});

test('closing waits for the run in flight and starts no other', async () => {
  const { run, ends, started } = controlledRun();
  const loop = every(100, run);
  await jest.advanceTimersByTimeAsync(100);
  let closed = false;
  const closing = loop.close().then(() => {
    closed = true;
  });
  await jest.advanceTimersByTimeAsync(500);
  expect(closed).toBe(false);
  ends[0]?.();
  await closing;
  await jest.advanceTimersByTimeAsync(500);
  expect(started()).toBe(1);
});
