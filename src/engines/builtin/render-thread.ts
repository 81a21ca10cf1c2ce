import type { Worker } from 'node:worker_threads';
import { startThread } from '../../lib/start-thread.ts';
import type { FramePixels, RenderJob } from './render-job.ts';
import type { RenderMessage } from './render-message.ts';

/** Milliseconds a thread may take for one frame, its start included, before it counts as hung. */
const FRAME_TIMEOUT_MS = 30_000;
/** Megabytes of JavaScript heap per thread; pixel buffers live outside of it. */
const HEAP_MB_MAX = 256;

/**
 * Renders on a thread of its own and yields frames as they are read. The thread is gone when the generator has ended,
 * whichever way. Throws the signal's reason when aborted, Error when the thread fails or hangs.
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
      () => settle(() => reject(new Error('the rendering thread hangs'))),
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
      settle(() => reject(new Error(`the rendering thread ended early (${code})`)));
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
