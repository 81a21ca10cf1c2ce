import { join } from 'node:path';

export type Program = { command: string; parameters: readonly string[] };

/** The commands a local start consists of. */
export type Programs = { migrate: Program; firstStart: Program; api: Program; worker: Program };

/**
 * What glibc is told in every process. It keeps freed memory in each of its arenas, eight for each processor unless told; and it raises the
 * size from which freed memory goes back at once to that of the largest block ever freed, so that pictures come to lie between small things.
 */
export const ALLOCATOR_SETTINGS = { MALLOC_ARENA_MAX: '2', MALLOC_MMAP_THRESHOLD_: '131072' } as const;

/**
 * What the API's process is started with everywhere: options of V8 that keep its garbage collector from holding up calls.
 *
 * - A call leaves some 130 kB of garbage: at the 16 MB that Node gives its young generation, collecting it was a seventh of a call's
 *   processor time, and what was still in use was copied again and again.
 * - Objects that V8 creates in the old generation, because others from the same place lived long while the process warmed up, keep alive
 *   what they point at until a full collection: a third of all that calls moved there.
 * - A full collection takes two cores for a tenth of a second, and calls wait for it. Where little reaches the old generation, V8 starts one
 *   whenever that has grown by a tenth, every ten seconds at 200 calls a second; it may double first.
 */
export const API_NODE_OPTIONS: readonly string[] = [
  '--max-semi-space-size=32',
  '--no-allocation-site-pretenuring',
  '--heap-growing-percent=100',
];

/** Compiled programs for `start`; TypeScript, run through tsx, for `dev`. */
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
