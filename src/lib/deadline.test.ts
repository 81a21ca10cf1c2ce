import { expect, test } from '@jest/globals';
import { inTimeOrUndefined, withDeadline } from './deadline.ts';

const never = new Promise<string>(() => undefined);

test('an answer in time is the answer, a failure the failure', async () => {
  await expect(withDeadline(Promise.resolve('yes'), 1_000, () => 'late')).resolves.toBe('yes');
  await expect(withDeadline(Promise.reject(new Error('no')), 1_000, () => 'late')).rejects.toThrow('no');
});

test('a late one is what the caller says, or throws', async () => {
  await expect(withDeadline(never, 1, () => 'late')).resolves.toBe('late');
  const fail = (): never => {
    throw new Error('too late');
  };
  await expect(withDeadline(never, 1, fail)).rejects.toThrow('too late');
});

test('an answer that has arrived when the timer fires is taken', async () => {
  const arrived = new Promise<string>((resolve) => setImmediate(resolve, 'there'));
  const answer = withDeadline(arrived, 1, () => 'late');
  const until = performance.now() + 20;
  while (performance.now() < until) {
    // holds the event loop beyond the deadline
  }
  await expect(answer).resolves.toBe('there');
});

test('where nothing is expected to be thrown, failing and late are undefined', async () => {
  await expect(inTimeOrUndefined(Promise.reject(new Error('no')), 1_000)).resolves.toBeUndefined();
  await expect(inTimeOrUndefined(never, 1)).resolves.toBeUndefined();
});
