import { Worker, type WorkerOptions } from 'node:worker_threads';

/** Runs `<name>.ts` beside `module`, the caller's `import.meta.url`, on a thread of its own: compiled or from source. */
export function startThread(module: string, name: string, options: WorkerOptions): Worker {
  if (!module.endsWith('.ts')) {
    return new Worker(new URL(`${name}.js`, module), options);
  }
  const argv = [new URL(`${name}.ts`, module).href];
  return new Worker(new URL('./start-thread.dev.mjs', import.meta.url), { ...options, argv });
}
