import { expect, test } from '@jest/globals';
import type { EngineRequest } from '../engine.types.ts';
import { RunTimes } from './run-times.ts';

test('estimates progress from the last similar run, and never reports a run as done before it ends', () => {
  let now = 1_000;
  const times = new RunTimes(() => now);
  const request = { kind: 'image', model: 'm', width: 512, height: 512 } as EngineRequest;
  const larger = { ...request, width: 2_048 };
  expect(times.progress('first', request)).toBeUndefined();
  now += 40_000;
  times.ended('first', request, true);
  expect(times.progress('second', request)).toBe(0);
  now += 10_000;
  expect(times.progress('second', request)).toBe(0.25);
  expect(times.progress('other', larger)).toBeUndefined();
  now += 90_000;
  expect(times.progress('second', request)).toBe(0.95);
  times.ended('second', request, false);
  expect(times.progress('third', request)).toBe(0);
  now += 20_000;
  expect(times.progress('third', request)).toBe(0.5);
});
