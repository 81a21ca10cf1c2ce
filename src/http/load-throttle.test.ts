import { LoadThrottle, TICK_MS } from './load-throttle.ts';

/** A process that does so many calls per second and whose turns take as long as the work that was admitted. */
function simulate(options: { capacity: number; offered: (second: number) => number; seconds: number }) {
  const throttle = new LoadThrottle(0);
  const perSecond = Array.from({ length: options.seconds }, () => ({
    served: 0,
    refused: 0,
    longestTurnMs: 0,
  }));
  let now = 0;
  let arriving = 0;
  let lastMs = TICK_MS;
  while (now < options.seconds * 1_000) {
    const second = perSecond[Math.floor(now / 1_000)]!;
    arriving += (options.offered(Math.floor(now / 1_000)) * lastMs) / 1_000;
    let work = 0;
    for (; arriving >= 1; arriving -= 1) {
      if (throttle.admits()) {
        work += 1;
      } else {
        second.refused += 1;
      }
    }
    second.served += work;
    for (let call = 0; call < work; call += 1) {
      throttle.finished();
    }
    lastMs = Math.max(TICK_MS, (work * 1_000) / options.capacity);
    second.longestTurnMs = Math.max(second.longestTurnMs, lastMs);
    now += lastMs;
    throttle.tick(now, 0);
  }
  return perSecond;
}

test('three times what it can do: nearly all of what it can is served, in short turns', () => {
  const settled = simulate({ capacity: 500, offered: () => 1_500, seconds: 30 }).slice(5);
  const served = settled.reduce((sum, second) => sum + second.served, 0) / settled.length;
  expect(served).toBeGreaterThan(0.8 * 500);
  expect(Math.max(...settled.map(({ longestTurnMs }) => longestTurnMs))).toBeLessThan(200);
});

test('below its capacity nobody is turned away, and none is any more soon after an overload', () => {
  const seconds = simulate({
    capacity: 500,
    offered: (second) => (second >= 5 && second < 15 ? 1_500 : 200),
    seconds: 25,
  });
  expect(seconds.slice(0, 5).map(({ refused }) => refused)).toEqual(Array(5).fill(0));
  expect(seconds.slice(7, 15).every(({ refused }) => refused > 0)).toBe(true);
  expect(seconds.slice(17).map(({ refused }) => refused)).toEqual(Array(8).fill(0));
});

test('one long turn is no overload', () => {
  const throttle = new LoadThrottle(0);
  throttle.tick(2_000, 0);
  expect(Array.from({ length: 1_000 }, () => throttle.admits())).not.toContain(false);
});

test.each([
  [1_500, false],
  [3_000, true],
])('a database that is behind for %d ms: calls are turned away: %s', (behindMs, expected) => {
  const throttle = new LoadThrottle(0);
  for (let now = TICK_MS; now <= behindMs; now += TICK_MS) {
    throttle.tick(now, now);
  }
  expect(Array.from({ length: 1_000 }, () => throttle.admits()).includes(false)).toBe(expected);
});
