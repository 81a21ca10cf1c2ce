// Renders jobs on a plain thread: inside the test runner's sandbox every global look-up is expensive, and rendering consists of them.
import { parentPort } from 'node:worker_threads';
import { register } from 'tsx/esm/api';

register();
const { renderFrames } = await import('../../src/engines/builtin/render-job.ts');

parentPort.on('message', ({ id, job }) => {
  const frames = [...renderFrames(job, () => {})];
  parentPort.postMessage({ id, frames });
});
