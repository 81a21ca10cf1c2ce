import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import { startThread } from '../lib/start-thread.ts';
import type { Placement, PlacementFailure } from './place-files.worker.ts';

/** Limits of a batch, in files and bytes. A larger file is placed alone. The bytes are copied for the thread. */
const FILES_MAX = 64;
const BYTES_MAX = 16 * 1024 * 1024;
/** Maximum JavaScript heap of the thread, in megabytes. The file contents are outside it. */
const HEAP_MB_MAX = 64;

interface Waiting {
  readonly file: Placement;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

interface Answer {
  readonly resolve: (failures: readonly (PlacementFailure | undefined)[]) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Places files on a separate thread, and batches those that arrive while it is busy. Storing a small image takes ten file system calls; one
 * by one through the thread pool these cost a worker a tenth of its time or more, and each waits for a journal write of its own. The thread
 * starts with the first file and does not keep an idle process alive. While the file system does not respond, neither does the placer.
 */
export class FilePlacer {
  readonly #root: string;
  #waiting: Waiting[] = [];
  #running: Promise<void> | undefined;
  #thread: Worker | undefined;
  /** The pending answer for the batch that the thread is placing. */
  #answer: Answer | undefined;

  /** `root` must be absolute, without symbolic links. */
  constructor(root: string) {
    this.#root = root;
  }

  /** Resolves when the file is visible and durable. Rejects with the file system's message and code. */
  place(file: Placement): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ file, resolve, reject });
      this.#running ??= this.#run();
    });
  }

  /** Stops the thread after the pending files. */
  async close(): Promise<void> {
    await this.#running;
    await this.#thread?.terminate();
  }

  async #run(): Promise<void> {
    // Files that arrive in the same turn of the event loop join the batch.
    await nextTurn();
    while (this.#waiting.length > 0) {
      await this.#placeTogether(this.#take());
    }
    this.#running = undefined;
  }

  #take(): Waiting[] {
    let bytes = 0;
    const beyond = this.#waiting.slice(0, FILES_MAX).findIndex(({ file }, index) => {
      bytes += file.content?.length ?? 0;
      return bytes > BYTES_MAX && index > 0;
    });
    return this.#waiting.splice(0, beyond === -1 ? FILES_MAX : beyond);
  }

  async #placeTogether(files: readonly Waiting[]): Promise<void> {
    try {
      const failures = await this.#send(files.map(({ file }) => file));
      files.forEach(({ resolve, reject }, index) => {
        const failure = failures[index];
        if (failure) {
          reject(Object.assign(new Error(failure.message), failure.code && { code: failure.code }));
        } else {
          resolve();
        }
      });
    } catch (error) {
      for (const { reject } of files) {
        reject(error as Error);
      }
    }
  }

  async #send(files: readonly Placement[]): Promise<readonly (PlacementFailure | undefined)[]> {
    this.#thread ??= this.#start();
    const thread = this.#thread;
    thread.ref();
    try {
      return await new Promise((resolve, reject) => {
        this.#answer = { resolve, reject };
        // Send exact copies: a buffer may be a view of a much larger one, or still be needed here.
        const own = files.map((file) => ({ ...file, content: file.content && new Uint8Array(file.content) }));
        thread.postMessage(
          own,
          own.flatMap(({ content }) => (content ? [content.buffer] : [])),
        );
      });
    } finally {
      this.#answer = undefined;
      thread.unref();
    }
  }

  #start(): Worker {
    const thread = startThread(import.meta.url, './place-files.worker', {
      workerData: this.#root,
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB_MAX },
    });
    thread.on('message', (failures: readonly (PlacementFailure | undefined)[]) =>
      this.#answer?.resolve(failures),
    );
    thread.on('error', (error: Error) => this.#answer?.reject(error));
    thread.on('exit', () => {
      this.#thread = undefined;
      this.#answer?.reject(new Error('the thread that stores files has exited'));
    });
    return thread;
  }
}
