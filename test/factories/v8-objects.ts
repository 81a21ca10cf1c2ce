import { setFlagsFromString } from 'node:v8';

/** Returns whether V8 keeps an object's properties at fixed offsets rather than in a dictionary. */
export function hasFastProperties(object: object): boolean {
  return evaluate('%HasFastProperties(one)', object);
}

/** Returns whether V8 lays out the properties of both objects alike, so that code optimized for one also serves the other. */
export function haveSameClass(one: object, other: object): boolean {
  return evaluate('%HaveSameMap(one, other)', one, other);
}

function evaluate(expression: string, one: object, other?: object): boolean {
  setFlagsFromString('--allow-natives-syntax');
  try {
    return new Function('one', 'other', `return ${expression}`)(one, other);
  } finally {
    setFlagsFromString('--no-allow-natives-syntax');
  }
}
