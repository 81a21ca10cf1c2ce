import TestSequencer from '@jest/test-sequencer';

/** Slow files (a minute alone) outside the slow project. */
const LONG = /\/test\/(e2e|jobs\/(processes|redis-as-it-is-run|storm)|deployment)\b/;

/**
 * Runs the longest files first. Without cached durations Jest sorts by file size, so a short file that starts a whole installation came
 * last and kept one worker busy for another minute.
 */
export default class LongFirst extends TestSequencer {
  sort(tests) {
    const isLong = ({ path, context }) => context.config.displayName?.name === 'slow' || LONG.test(path);
    const ordered = super.sort(tests);
    return [...ordered.filter(isLong), ...ordered.filter((test) => !isLong(test))];
  }
}
