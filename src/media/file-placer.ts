import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import { startThread } from '../lib/start-thread.ts';
import type { Placement, PlacementFailure } from './place-files.worker.ts';

/** Files that are placed together, and their bytes, at most; a larger one goes alone. Bytes are copied for the thread. */
const FILES_MAX = 64;
const BYTES_MAX = 16 * 1024 * 1024;
/** Megabytes of JavaScript heap of the thread; what it writes lies outside of it. */
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
 * Places files on a thread of its own, and together those that come while it is at others. To store a small picture takes ten calls of
 * the file system; one by one through the thread pool they cost a worker a tenth of its time or more, and each waits for a journal of its own.
 * The thread starts with the first file, and keeps no process alive that waits for none. As long as the file system does not answer,
 * nor does it.
 */
export class FilePlacer {
  readonly #root: string;
  #waiting: Waiting[] = [];
  #running: Promise<void> | undefined;
  #thread: Worker | undefined;
  /** Of the files that the thread has. */
  #answer: Answer | undefined;

  /** `root`: absolute, without symbolic links. */
  constructor(root: string) {
    this.#root = root;
  }

  /** Resolves when the file is visible and durable. Throws what the file system throws, with its code. */
  place(file: Placement): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ file, resolve, reject });
      this.#running ??= this.#run();
    });
  }

  /** Ends the thread after the files under way. */
  async close(): Promise<void> {
    await this.#running;
    await this.#thread?.terminate();
  }

  async #run(): Promise<void> {
    // what comes in the same turn of the event loop goes along
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
        // exact copies: a buffer may be a view of one that is many times as large, or be wanted again
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
      this.#answer?.reject(new Error('the thread that stores files has ended'));
    });
    return thread;
  }
}
