import { hasFastProperties } from '../../test/factories/v8-objects.ts';
import { optimizeStrings } from './optimize-strings.ts';

test('string methods are fast again after a class was derived from String', () => {
  // what ioredis does
  new Function('return class extends String {}')();
  expect(hasFastProperties(String.prototype)).toBe(false);
  optimizeStrings();
  expect(hasFastProperties(String.prototype)).toBe(true);
});
