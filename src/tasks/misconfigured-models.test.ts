import { expect, test } from '@jest/globals';
import { MisconfiguredModels } from './misconfigured-models.ts';

const HEALTHY = { isBroken: false, restMs: undefined };

function models() {
  let now = 1_000_000;
  const watched = new MisconfiguredModels(() => now);
  const pass = (ms: number): void => {
    now += ms;
  };
  return { watched, pass };
}

test('an engine that refuses three runs in a row is broken, and rests longer each time', () => {
  const { watched } = models();
  const verdicts = Array.from({ length: 8 }, () => watched.refused('gpu', 'flux', 'one'));
  expect(verdicts.slice(0, 2)).toEqual([HEALTHY, HEALTHY]);
  expect(verdicts.slice(2).map(({ restMs }) => restMs)).toEqual([
    5_000, 10_000, 20_000, 40_000, 60_000, 60_000,
  ]);
});

test('refusals of one account while others are served say nothing about the engine', () => {
  const { watched, pass } = models();
  watched.succeeded('gpu', 'flux');
  for (let run = 0; run < 20; run += 1) {
    expect(watched.refused('gpu', 'flux', 'one')).toEqual(HEALTHY);
  }
  pass(60_000);
  expect(watched.refused('gpu', 'flux', 'one').isBroken).toBe(true);
});

test('a model refused to two accounts is broken, but its pool goes on while it makes another model', () => {
  const { watched } = models();
  watched.succeeded('gpu', 'wan');
  watched.refused('gpu', 'flux', 'one');
  watched.refused('gpu', 'flux', 'two');
  expect(watched.refused('gpu', 'flux', 'one')).toEqual({ isBroken: true, restMs: undefined });
  watched.succeeded('gpu', 'flux');
  expect(watched.refused('gpu', 'flux', 'two')).toEqual(HEALTHY);
});
