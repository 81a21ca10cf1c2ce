import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const reporter = fileURLToPath(new URL('../setup/count-reporter.js', import.meta.url));

function lastLine(results: Record<string, number>): string {
  const script = `
    const { default: CountReporter } = await import(${JSON.stringify(reporter)});
    new CountReporter().onRunComplete(new Set(), ${JSON.stringify(results)});
    console.log('something after the summary');`;
  const run = spawnSync(process.execPath, ['--input-type=module', '-e', script], { timeout: 60_000 });
  return run.stdout.toString().split('\n').at(-2) ?? '';
}

const none = {
  numPassedTests: 0,
  numFailedTests: 0,
  numPendingTests: 0,
  numTodoTests: 0,
  numRuntimeErrorTestSuites: 0,
};

test('the counts are the very last line', () => {
  expect(lastLine({ ...none, numPassedTests: 12 })).toBe('12 passed, 0 failed');
});

test('skipped tests are counted only when there are some', () => {
  expect(lastLine({ ...none, numPassedTests: 3, numPendingTests: 1, numTodoTests: 1 })).toBe(
    '3 passed, 0 failed, 2 skipped',
  );
});

test('a file that cannot run counts as a failure', () => {
  expect(lastLine({ ...none, numFailedTests: 1, numRuntimeErrorTestSuites: 2 })).toBe('0 passed, 3 failed');
});
