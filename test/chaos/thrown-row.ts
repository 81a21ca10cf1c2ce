import { createServer } from 'node:net';
import { reportFinding } from './report-finding.ts';

/** A row for tests: it throws while something it started is still running, and its services never close. */
createServer().listen(0, '127.0.0.1');
await reportFinding(
  () => Promise.reject(new Error('the load broke off', { cause: new Error('the socket was reset') })),
  () => new Promise(() => undefined),
  (finding) => new Promise((resolve) => process.send?.(finding, () => resolve())),
  100,
);
process.exit();
