import { BodyBytes } from './body-bytes.ts';

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
