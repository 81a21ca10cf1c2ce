import { join } from 'node:path';

export type Program = { command: string; parameters: readonly string[] };

/** The commands a local start consists of. */
export type Programs = { migrate: Program; firstStart: Program; api: Program; worker: Program };

/** Compiled programs for `start`; TypeScript, run through tsx, for `dev`. */
export function productPrograms(root: string, mode: 'start' | 'dev'): Programs {
  const program = (file: string): Program =>
    mode === 'dev'
      ? {
          command: process.execPath,
          parameters: ['--import', 'tsx', '--enable-source-maps', join(root, `${file}.ts`)],
        }
      : { command: process.execPath, parameters: ['--enable-source-maps', join(root, 'dist', `${file}.js`)] };
  return {
    migrate: program('migrations/run'),
    firstStart: program('src/operators/first-start'),
    api: program('src/server'),
    worker: program('workers/main'),
  };
}
