import { writeFileSync } from 'node:fs';

/** Prints `N passed, N failed[, N skipped]` as the last line of a run. A file that could not run counts as one failure. */
export default class CountReporter {
  onRunComplete(_contexts, results) {
    const passed = results.numPassedTests;
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
    const skipped = results.numPendingTests + results.numTodoTests;
    const line = `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}\n`;
    // The summary of Jest's own reporter goes to standard error. Without the wait the two could swap places,
    // and later Jest messages (open handles, a forced exit) would follow the last line.
    process.once('exit', () => process.stdout.write(line));
    if (process.env.TEST_COUNTED_FILE) {
      // Tells `npm test` that the line follows.
      writeFileSync(process.env.TEST_COUNTED_FILE, line);
    }
  }
}
