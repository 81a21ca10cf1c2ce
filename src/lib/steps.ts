/** Work in steps of a few ms, between which the process can do other things. */
export type Steps<T> = Generator<undefined, T>;

/** What a step takes when nothing in it is long, in ms. */
const STEP_MS = 2;

let begunAt = 0;

/** Asked between small pieces of work: true when a step's time has passed since it last was, and the work should yield. */
export function isStepOver(): boolean {
  const now = performance.now();
  if (now - begunAt < STEP_MS) {
    return false;
  }
  begunAt = now;
  return true;
}

/** Does the work in one go. */
export function atOnce<T>(steps: Iterator<unknown, T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done) {
      return value;
    }
  }
}

/** `items.map(change)`, in steps. */
export function* mapInSteps<T, U>(items: readonly T[], change: (item: T) => U): Steps<U[]> {
  const changed: U[] = [];
  for (const item of items) {
    changed.push(change(item));
    if (isStepOver()) {
      yield undefined;
    }
  }
  return changed;
}

/** `items.flatMap(change)`, in steps, where an item of its own can be long. */
export function* flatMapInSteps<T, U>(
  items: readonly T[],
  change: (item: T) => Steps<readonly U[]>,
): Steps<U[]> {
  const changed: U[] = [];
  for (const item of items) {
    for (const one of yield* change(item)) {
      changed.push(one);
    }
    if (isStepOver()) {
      yield undefined;
    }
  }
  return changed;
}
