import TestSequencer from '@jest/test-sequencer';

/** Files that take a minute alone although their project is not the slow one. */
const LONG = /\/test\/(e2e|jobs\/(processes|redis-as-it-is-run|storm)|deployment)\b/;

/**
 * Runs the longest files first. Without a cache of durations Jest goes by the size of a file, so that a short one which starts a whole
 * installation came last, and a worker waited a minute for it.
 */
export default class LongFirst extends TestSequencer {
  sort(tests) {
    const isLong = ({ path, context }) => context.config.displayName?.name === 'slow' || LONG.test(path);
    const ordered = super.sort(tests);
    return [...ordered.filter(isLong), ...ordered.filter((test) => !isLong(test))];
  }
}
