import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { createTerminal, type Terminal } from '../../ops/local/terminal.ts';

type Supervision = typeof import('../../ops/local/supervise.ts');
type Programs = typeof import('../../ops/local/programs.ts');

/**
 * Runs what `npm start` runs once the product is built: its supervisor with its programs and settings, in the environment of this process.
 * `BENCH_API_OPTIONS`, which `npm start` does not have, are Node options that allow inspecting the API while it is measured. `BENCH_BUILD`
 * is the folder of an earlier build, run by its own supervisor. Notifies its parent when everything is ready, and stops everything when its
 * parent is gone.
 */
const {
  BENCH_API_OPTIONS: options,
  BENCH_BUILD: root = fileURLToPath(new URL('../..', import.meta.url)),
  ...environment
} = process.env;

async function ofBuild<Module>(file: string): Promise<Module> {
  return (await import(pathToFileURL(join(root, file)).href)) as Module;
}

function telling(terminal: Terminal): Terminal {
  return {
    ...terminal,
    print: (...lines) => {
      terminal.print(...lines);
      const address = /is ready at (\S+)/.exec(lines.join('\n'))?.[1];
      if (address !== undefined) {
        process.send?.({ type: 'ready', address });
      }
    },
  };
}

process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
const { productPrograms } = await ofBuild<Programs>('ops/local/programs.ts');
const { supervise } = await ofBuild<Supervision>('ops/local/supervise.ts');
const programs = productPrograms(root, 'start');
const { command, parameters } = programs.api;
const added = options === undefined ? [] : options.split(' ');
process.exitCode = await supervise({
  environment,
  root,
  mode: 'start',
  programs: { ...programs, api: { command, parameters: [...added, ...parameters] } },
  terminal: telling(createTerminal(process.stdout, false)),
  startedAtMs: Date.now(),
});
