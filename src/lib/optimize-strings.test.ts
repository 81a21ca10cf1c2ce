import { setFlagsFromString } from 'node:v8';
import { optimizeStrings } from './optimize-strings.ts';

/** Returns whether V8 keeps an object's properties at fixed offsets rather than in a dictionary. */
function hasFastProperties(object: object): boolean {
  setFlagsFromString('--allow-natives-syntax');
  try {
    return new Function('object', 'return %HasFastProperties(object)')(object);
  } finally {
    setFlagsFromString('--no-allow-natives-syntax');
  }
}

test('string methods are fast again after a class was derived from String', () => {
  // what ioredis does
  new Function('return class extends String {}')();
  expect(hasFastProperties(String.prototype)).toBe(false);
  optimizeStrings();
  expect(hasFastProperties(String.prototype)).toBe(true);
});
