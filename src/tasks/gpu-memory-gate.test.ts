import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Logger } from '../lib/logger.ts';
import { GpuMemoryGate } from './gpu-memory-gate.ts';

const { signal } = new AbortController();
const log = { warn: () => undefined } as unknown as Logger;
let now: number;
let freed: string[];
let rooms: GpuMemoryGate;

beforeEach(() => {
  now = 1_000_000;
  freed = [];
  rooms = new GpuMemoryGate({
    totals: new Map([[0, 24]]),
    free: async (pool) => void freed.push(pool),
    log,
    now: () => now,
  });
  rooms.renew(
    [
      ['image', 10],
      ['video', 20],
      ['small', 4],
    ].map(([pool, mib]) => ({ pool: String(pool), gpu: 0, mib: Number(mib), keeps: false })),
  );
});
afterEach(() => rooms?.close());

/** Returns the names that have entered so far, once everything due has happened. */
async function settled(names: readonly string[]): Promise<readonly string[]> {
  await new Promise((resolve) => setImmediate(resolve));
  return names;
}

const open = () => ['image', 'video', 'small'].filter((pool) => rooms.hasRoom(pool));
const pass = (milliseconds: number): void => {
  now += milliseconds;
  rooms.tick();
};

test('runs share the GPU as far as their servers fit; others wait for room, and idle servers are unloaded', async () => {
  const entered: string[] = [];
  const image = await rooms.take('image', signal);
  const small = await rooms.take('small', signal);
  const video = rooms.take('video', signal).then((leave) => {
    entered.push('video');
    return leave;
  });
  expect(await settled(entered)).toEqual([]);
  small();
  expect(await settled(entered)).toEqual([]);
  image();
  expect(await settled(entered)).toEqual(['video']);
  expect(freed).toEqual(['image']);
  (await video)();
});

test('runs enter in the order they came, and one that gives up makes way', async () => {
  const entered: string[] = [];
  const leaving = await rooms.take('video', signal);
  const giveUp = new AbortController();
  const refused = rooms.take('image', giveUp.signal).catch((error: Error) => error.name);
  const later = ['video', 'image'].map((pool) =>
    rooms.take(pool, signal).then((leave) => {
      entered.push(pool);
      return leave;
    }),
  );
  expect(await settled(entered)).toEqual([]);
  giveUp.abort();
  expect(await refused).toBe('AbortError');
  expect(await settled(entered)).toEqual(['video']);
  leaving();
  (await later[0])?.();
  expect(await settled(entered)).toEqual(['video', 'image']);
  (await later[1])?.();
});

test('a pool keeps its models while it has work, until its turn is over; then others go first', async () => {
  expect(open()).toEqual(['image', 'video', 'small']);
  let leave = await rooms.take('video', signal);
  expect(open()).toEqual(['video', 'small']);
  pass(30_000);
  leave();
  expect(open()).toEqual(['video', 'small']);
  leave = await rooms.take('video', signal);
  pass(30_000);
  expect(open()).toEqual(['small']);
  leave();
  expect(open()).toEqual(['image', 'small']);
  const image = await rooms.take('image', signal);
  expect(freed).toEqual(['video']);
  expect(open()).toEqual(['image', 'small']);
  image();
});

test('a turn starts over after a moment when no other pool has work; idle models are no obstacle', async () => {
  const leave = await rooms.take('video', signal);
  pass(60_000);
  leave();
  expect(open()).toEqual(['image', 'small']);
  pass(500);
  expect(open()).toEqual(['image', 'video', 'small']);
  const heard: [string, boolean][] = [];
  rooms.onChange((...change) => void heard.push(change));
  const again = await rooms.take('video', signal);
  expect(heard).toEqual([['image', false]]);
  expect(freed).toEqual([]);
  again();
});

test('memory that is never given back is not available to others; a pool without a share always has room', async () => {
  rooms.renew([
    { pool: 'served', gpu: 0, mib: 12, keeps: true },
    { pool: 'image', gpu: 0, mib: 10, keeps: false },
    { pool: 'other', gpu: 0, mib: 3, keeps: false },
  ]);
  const image = await rooms.take('image', signal);
  expect(rooms.hasRoom('other')).toBe(false);
  expect(rooms.hasRoom('served')).toBe(true);
  (await rooms.take('served', signal))();
  image();
});

test('an engine that does not unload does not keep others out forever', async () => {
  const stubborn = new GpuMemoryGate({
    totals: new Map([[0, 24]]),
    free: () => Promise.reject(new Error('it does not answer')),
    log,
  });
  stubborn.renew(['a', 'b'].map((pool) => ({ pool, gpu: 0, mib: 20, keeps: false })));
  (await stubborn.take('a', signal))();
  (await stubborn.take('b', signal))();
  await stubborn.close();
});
