import { expect, test } from '@jest/globals';
import { inTimeOrUndefined, withDeadline } from './deadline.ts';

const never = new Promise<string>(() => undefined);

test('passes on a result or an error that arrives in time', async () => {
  await expect(withDeadline(Promise.resolve('yes'), 1_000, () => 'late')).resolves.toBe('yes');
  await expect(withDeadline(Promise.reject(new Error('no')), 1_000, () => 'late')).rejects.toThrow('no');
});

test('calls `late` after the deadline and returns or throws what it does', async () => {
  await expect(withDeadline(never, 1, () => 'late')).resolves.toBe('late');
  const fail = (): never => {
    throw new Error('too late');
  };
  await expect(withDeadline(never, 1, fail)).rejects.toThrow('too late');
});

test('uses a result that has already arrived when the timer fires', async () => {
  const arrived = new Promise<string>((resolve) => setImmediate(resolve, 'there'));
  const answer = withDeadline(arrived, 1, () => 'late');
  const until = performance.now() + 20;
  while (performance.now() < until) {
    // blocks the event loop beyond the deadline
  }
  await expect(answer).resolves.toBe('there');
});

test('inTimeOrUndefined resolves to undefined for an error and for a late result', async () => {
  await expect(inTimeOrUndefined(Promise.reject(new Error('no')), 1_000)).resolves.toBeUndefined();
  await expect(inTimeOrUndefined(never, 1)).resolves.toBeUndefined();
});
