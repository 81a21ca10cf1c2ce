import { isMainThread, parentPort, workerData } from 'node:worker_threads';
import { type RenderJob, renderFrames } from './render-job.ts';
import type { RenderMessage } from './render-message.ts';

/** Smallest progress step that is reported. */
const PROGRESS_STEP = 0.01;

/**
 * Entry point of a rendering thread. The job arrives as workerData, then one frame is sent per 'next' message. The reader sets the pace, so
 * at most one rendered frame waits in memory, however slow the encoder is.
 */
function serve(port: NonNullable<typeof parentPort>, job: RenderJob): void {
  let reported = -1;
  const post = (message: RenderMessage, transfer: ArrayBuffer[] = []) => port.postMessage(message, transfer);
  const frames = renderFrames(job, (fraction) => {
    if (fraction >= reported + PROGRESS_STEP || fraction >= 1) {
      reported = fraction;
      post({ kind: 'progress', fraction });
    }
  });
  port.on('message', () => {
    const next = frames.next();
    if (next.done) {
      post({ kind: 'end' });
      port.close();
    } else {
      post({ kind: 'frame', pixels: next.value }, [next.value.buffer]);
    }
  });
}

if (!isMainThread && parentPort) {
  serve(parentPort, workerData as RenderJob);
}
