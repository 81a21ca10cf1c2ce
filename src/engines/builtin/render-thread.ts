import type { Worker } from 'node:worker_threads';
import { startThread } from '../../lib/start-thread.ts';
import type { FramePixels, RenderJob } from './render-job.ts';
import type { RenderMessage } from './render-message.ts';

/** Maximum time for one frame in ms, including the thread's start. After that the thread counts as hung. */
const FRAME_TIMEOUT_MS = 30_000;
/** Maximum JavaScript heap per thread, in megabytes. Pixel buffers are allocated outside it. */
const HEAP_MB_MAX = 256;

/**
 * Renders on a separate thread and yields frames as they are read. The thread is terminated when the generator ends for any reason. Throws
 * the signal's reason when aborted, Error when the thread fails or hangs.
 */
export async function* renderOnThread(
  job: RenderJob,
  signal: AbortSignal,
  onProgress: (fraction: number) => void,
): AsyncGenerator<FramePixels, void, void> {
  signal.throwIfAborted();
  const worker = startThread(import.meta.url, './render.worker', {
    workerData: job,
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB_MAX },
  });
  try {
    for (let count = 0; count < job.frames; count += 1) {
      yield await nextFrame(worker, signal, onProgress);
    }
  } finally {
    await worker.terminate();
  }
}

function nextFrame(
  worker: Worker,
  signal: AbortSignal,
  onProgress: (fraction: number) => void,
): Promise<FramePixels> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => settle(() => reject(new Error('the rendering thread does not respond'))),
      FRAME_TIMEOUT_MS,
    );
    const settle = (action: () => void) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      worker.off('message', onMessage).off('error', onError).off('exit', onExit);
      action();
    };
    const onAbort = () => settle(() => reject(signal.reason));
    const onError = (error: Error) => settle(() => reject(error));
    const onExit = (code: number) =>
      settle(() => reject(new Error(`the rendering thread exited early (code ${code})`)));
    const onMessage = (message: RenderMessage) => {
      if (message.kind === 'progress') {
        onProgress(message.fraction);
      } else if (message.kind === 'frame') {
        settle(() => resolve(message.pixels));
      } else {
        onExit(0);
      }
    };
    worker.on('message', onMessage).on('error', onError).on('exit', onExit);
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) {
      onAbort();
      return;
    }
    worker.postMessage('next');
  });
}
