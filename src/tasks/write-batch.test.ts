import { expect, jest, test } from '@jest/globals';
import { WriteBatch } from './write-batch.ts';

class Refused extends Error {
  readonly code: string;

  constructor(code: string) {
    super(`refused: ${code}`);
    this.code = code;
  }
}

test('an item is sent at once; items that arrive while it is in flight are one batch, answered in order', async () => {
  const sent: number[][] = [];
  const batch = new WriteBatch<number, string>(async (items) => {
    sent.push([...items]);
    await new Promise(setImmediate);
    return items.map((item) => `answer ${item}`);
  }, 0);
  const answers = await Promise.all([1, 2, 3].map((item) => batch.run(item)));
  expect(answers).toEqual(['answer 1', 'answer 2', 'answer 3']);
  expect(sent).toEqual([[1], [2, 3]]);
  expect(await batch.run(4)).toBe('answer 4');
});

test('an item that Postgres rejects does not fail the others', async () => {
  const batch = new WriteBatch<number, number>(async (items) => {
    await new Promise(setImmediate);
    if (items.includes(13)) {
      throw new Refused('22P05');
    }
    return [...items];
  }, 0);
  const outcomes = await Promise.allSettled([1, 12, 13, 14].map((item) => batch.run(item)));
  expect(outcomes.map((outcome) => outcome.status)).toEqual([
    'fulfilled',
    'fulfilled',
    'rejected',
    'fulfilled',
  ]);
});

test('after a lost answer nothing is sent again: it may have been written', async () => {
  const sent: number[][] = [];
  const batch = new WriteBatch<number, number>(async (items) => {
    sent.push([...items]);
    await new Promise(setImmediate);
    if (items.length > 1) {
      throw new Error('Connection terminated unexpectedly');
    }
    return [...items];
  }, 0);
  const outcomes = await Promise.allSettled([1, 2, 3].map((item) => batch.run(item)));
  expect(outcomes.map((outcome) => outcome.status)).toEqual(['fulfilled', 'rejected', 'rejected']);
  expect(sent).toEqual([[1], [2, 3]]);
});

test('items that arrive within the pace of the last statement go with the next one', async () => {
  const sent: number[][] = [];
  const batch = new WriteBatch<number, number>(async (items) => {
    sent.push([...items]);
    return [...items];
  }, 60_000);
  jest.useFakeTimers();
  try {
    await batch.run(1);
    const later = [2, 3].map((item) => batch.run(item));
    await jest.advanceTimersByTimeAsync(59_000);
    expect(sent).toEqual([[1]]);
    await jest.advanceTimersByTimeAsync(1_000);
    expect(await Promise.all(later)).toEqual([2, 3]);
    expect(sent).toEqual([[1], [2, 3]]);
  } finally {
    jest.useRealTimers();
  }
});
