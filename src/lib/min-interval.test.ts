import { expect, jest, test } from '@jest/globals';
import { MinInterval } from './min-interval.ts';

test('work starts at once after a pause; work within the interval waits and starts together', async () => {
  jest.useFakeTimers({ now: 0 });
  try {
    const pace = new MinInterval(20);
    const begun: string[] = [];
    const begin = async (name: string) => {
      await pace.begin();
      begun.push(name);
    };
    void begin('first');
    void begin('second');
    await jest.advanceTimersByTimeAsync(5);
    void begin('third');
    expect(begun).toEqual(['first']);
    await jest.advanceTimersByTimeAsync(14);
    expect(begun).toEqual(['first']);
    await jest.advanceTimersByTimeAsync(1);
    expect(begun).toEqual(['first', 'second', 'third']);
    void begin('fourth');
    await jest.advanceTimersByTimeAsync(19);
    expect(begun).toHaveLength(3);
    await jest.advanceTimersByTimeAsync(1);
    expect(begun).toHaveLength(4);
    await jest.advanceTimersByTimeAsync(100);
    void begin('fifth');
    await jest.advanceTimersByTimeAsync(0);
    expect(begun).toHaveLength(5);
  } finally {
    jest.useRealTimers();
  }
});
