import { expect, test } from '@jest/globals';
import { TokenLookups } from './token-lookups.ts';
import type { OpenedToken } from './worker-tokens.store.ts';

const TOKEN: OpenedToken = { id: 'id', name: 'rented', pools: ['gpu'] };

function setUp() {
  const known = new Map([['right', TOKEN]]);
  const asked: string[][] = [];
  let [now, inFlight, most] = [0, 0, 0];
  const lookups = new TokenLookups(
    {
      use: async (hashes) => {
        asked.push([...hashes]);
        inFlight += 1;
        most = Math.max(most, inFlight);
        await new Promise((resolve) => setImmediate(resolve));
        inFlight -= 1;
        return new Map([...known].filter(([hash]) => hashes.includes(hash)));
      },
    },
    { now: () => now },
  );
  return {
    ...{ lookups, known, asked },
    most: () => most,
    pass: (ms: number) => {
      now += ms;
    },
  };
}

test('a flood of wrong tokens runs one statement at a time and does not block valid ones', async () => {
  const { lookups, asked, most } = setUp();
  const wrong = Array.from({ length: 3_000 }, (_, index) => `wrong-${index}`);
  const answers = await Promise.all(
    [...wrong, 'right', ...wrong].map((hash) => lookups.find(hash).catch(() => null)),
  );
  expect(answers[3_000]).toEqual(TOKEN);
  expect(answers.filter((answer) => answer === undefined).length).toBeGreaterThanOrEqual(4_998);
  expect(asked.length).toBeLessThanOrEqual(60);
  expect(most()).toBe(1);
});

test('lookups beyond the waiting limit are told to retry', async () => {
  const { lookups } = setUp();
  const wrong = Array.from({ length: 5_001 }, (_, index) => lookups.find(`wrong-${index}`));
  await expect(wrong.at(-1)).rejects.toMatchObject({ code: 'service_unavailable' });
  await expect(wrong[0]).resolves.toBeUndefined();
  await Promise.allSettled(wrong);
});

test('looks up an unknown token once a minute, and a valid one each time, so it is rejected as soon as it is revoked', async () => {
  const { lookups, known, asked, pass } = setUp();
  for (let call = 0; call < 3; call += 1) {
    expect(await lookups.find('wrong')).toBeUndefined();
    expect(await lookups.find('right')).toEqual(TOKEN);
  }
  expect(asked.flat().filter((hash) => hash === 'wrong')).toHaveLength(1);
  expect(asked.flat().filter((hash) => hash === 'right')).toHaveLength(3);
  known.clear();
  expect(await lookups.find('right')).toBeUndefined();
  pass(60_000);
  await lookups.find('wrong');
  expect(asked.flat().filter((hash) => hash === 'wrong')).toHaveLength(2);
});

test('does not remember lookups that failed', async () => {
  let isAway = true;
  const lookups = new TokenLookups(
    {
      use: async () => {
        if (isAway) {
          throw new Error('away');
        }
        return new Map([['right', TOKEN]]);
      },
    },
    { now: () => 0 },
  );
  await expect(lookups.find('right')).rejects.toThrow('away');
  isAway = false;
  expect(await lookups.find('right')).toEqual(TOKEN);
});
