import { BodyBytes, bodyBytesLimits } from './body-bytes.ts';

test('an account holds so many bytes at once, all accounts together so many, and gives them back', () => {
  const bodies = new BodyBytes({ account: 10, process: 15 });
  const [one, same, other] = [bodies.share('a'), bodies.share('a'), bodies.share('b')];
  one.take(6);
  expect(() => same.take(5)).toThrow('bodies of more than 10 bytes of this account are in flight');
  same.take(4);
  expect(() => other.take(6)).toThrow('too many large bodies');
  other.take(5);
  one.release();
  one.release();
  same.take(6);
  expect(() => same.take(1)).toThrow('of this account');
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
