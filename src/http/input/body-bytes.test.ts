import { BodyBytes, bodyBytesLimits } from './body-bytes.ts';

test('limits the bytes held at once per account and in total until they are released', () => {
  const bodies = new BodyBytes({ account: 10, process: 15 });
  const [one, same, other] = [bodies.share('a'), bodies.share('a'), bodies.share('b')];
  one.take(6);
  expect(() => same.take(5)).toThrow('this account has more than 10 bytes of request bodies in flight');
  same.take(4);
  expect(() => other.take(6)).toThrow('too many large request bodies');
  other.take(5);
  one.release();
  one.release();
  same.take(6);
  expect(() => same.take(1)).toThrow('this account');
});

test('of bodies that grow together, only those that do not fit are rejected', () => {
  const bodies = new BodyBytes({ account: 100, process: 90 });
  const growing = ['a', 'b', 'c', 'd', 'e'].map((account) => bodies.share(account));
  const refused = new Set<number>();
  for (let part = 0; part < 31; part += 1) {
    for (const [place, share] of growing.entries()) {
      try {
        if (!refused.has(place)) {
          share.take(1);
        }
      } catch {
        refused.add(place);
      }
    }
  }
  expect(refused.size).toBe(3);
});

test.each([
  { heap: 736, process: 96, account: 64 },
  { heap: 4_288, process: 96, account: 64 },
  { heap: 352, process: 42, account: 32 },
  { heap: 128, process: 32, account: 32 },
])(
  'a heap of $heap MiB lets a process hold $process MiB, an account $account',
  ({ heap, process, account }) => {
    const limits = bodyBytesLimits(heap * 2 ** 20);
    expect([limits.process, limits.account]).toEqual([process * 2 ** 20, account * 2 ** 20]);
  },
);
