import { Worker, type WorkerOptions } from 'node:worker_threads';

/** Runs `<name>.ts` on a new thread, compiled or from source. `module` is the caller's `import.meta.url`; the file is in the same folder. */
export function startThread(module: string, name: string, options: WorkerOptions): Worker {
  if (!module.endsWith('.ts')) {
    return new Worker(new URL(`${name}.js`, module), options);
  }
  const argv = [new URL(`${name}.ts`, module).href];
  return new Worker(new URL('./start-thread.dev.mjs', import.meta.url), { ...options, argv });
}
