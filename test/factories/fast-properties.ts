import { setFlagsFromString } from 'node:v8';

/** Returns whether V8 keeps an object's properties at fixed offsets rather than in a dictionary. */
export function hasFastProperties(object: object): boolean {
  setFlagsFromString('--allow-natives-syntax');
  try {
    return new Function('object', 'return %HasFastProperties(object)')(object);
  } finally {
    setFlagsFromString('--no-allow-natives-syntax');
  }
}
