/** Work split into steps of a few ms, between which the process can do other things. */
export type Steps<T> = Generator<undefined, T>;

/** Target duration of a step, in ms. A step takes longer if a single piece of it does. */
const STEP_MS = 2;

let begunAt = 0;

/** Returns true when the current step has used its time and the work should yield. Call it between small pieces of work. */
export function isStepOver(): boolean {
  const now = performance.now();
  if (now - begunAt < STEP_MS) {
    return false;
  }
  begunAt = now;
  return true;
}

/** Runs all steps in one go. */
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

/** `items.flatMap(change)`, in steps, where a single item can take several. */
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
