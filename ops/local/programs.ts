import { join } from 'node:path';

export type Program = { command: string; parameters: readonly string[] };

/** The programs of a local start. */
export type Programs = { migrate: Program; firstStart: Program; api: Program; worker: Program };

/**
 * Settings of glibc's allocator in every process. By default it keeps freed memory in up to eight arenas per processor, and it
 * raises the size above which freed memory is returned at once to that of the largest block ever freed, so that images end up
 * between small allocations.
 */
export const ALLOCATOR_SETTINGS = { MALLOC_ARENA_MAX: '2', MALLOC_MMAP_THRESHOLD_: '131072' } as const;

/**
 * V8 options of every API process. They keep the garbage collector from delaying calls.
 *
 * - Semi-space size: a call leaves about 130 kB of garbage. With Node's default young generation of 16 MB, collecting it took a seventh of
 *   a call's CPU time, and live objects were copied again and again.
 * - No allocation-site pretenuring: V8 allocates objects directly in the old generation if others from the same site lived long during
 *   warm-up. Such objects keep alive whatever they reference until a full collection: a third of everything that calls moved there.
 * - Heap growing percent: a full collection occupies two cores for a tenth of a second, and calls wait for it. When little reaches the old
 *   generation, V8 starts one whenever that has grown by a tenth: every ten seconds at 200 calls a second. With 100 it may double first.
 * - No memory reducer: eight seconds after the last call it runs a full collection to shrink the idle heap. That collects the hidden
 *   classes of objects of which none happens to live, and with them the optimized code of most functions of a call (266 at once, as
 *   `--trace-deopt` shows). The first calls afterwards then ran in the interpreter.
 */
export const API_NODE_OPTIONS: readonly string[] = [
  '--max-semi-space-size=32',
  '--no-allocation-site-pretenuring',
  '--heap-growing-percent=100',
  '--no-memory-reducer',
];

/** Returns compiled programs for `start`, or TypeScript run through tsx for `dev`. */
export function productPrograms(root: string, mode: 'start' | 'dev'): Programs {
  const program = (file: string, options: readonly string[] = []): Program => ({
    command: process.execPath,
    parameters:
      mode === 'dev'
        ? ['--import', 'tsx', '--enable-source-maps', ...options, join(root, `${file}.ts`)]
        : ['--enable-source-maps', ...options, join(root, 'dist', `${file}.js`)],
  });
  return {
    migrate: program('migrations/run'),
    firstStart: program('src/operators/first-start'),
    api: program('src/server', API_NODE_OPTIONS),
    worker: program('workers/main'),
  };
}
