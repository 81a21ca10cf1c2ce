import { fileURLToPath } from 'node:url';
import { productPrograms } from '../../ops/local/programs.ts';
import { supervise } from '../../ops/local/supervise.ts';
import { createTerminal, type Terminal } from '../../ops/local/terminal.ts';

/**
 * What `npm start` runs once the product is built: its supervisor with its programs and settings, on the environment of this process.
 * `BENCH_API_OPTIONS`, which `npm start` does not know, are options for Node that let the API be looked at while it is measured. Tells
 * its parent when all is ready, and stops everything when its parent is gone.
 */
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const { BENCH_API_OPTIONS: options, ...environment } = process.env;

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
const programs = productPrograms(ROOT, 'start');
const { command, parameters } = programs.api;
const added = options === undefined ? [] : options.split(' ');
process.exitCode = await supervise({
  environment,
  root: ROOT,
  mode: 'start',
  programs: { ...programs, api: { command, parameters: [...added, ...parameters] } },
  terminal: telling(createTerminal(process.stdout, false)),
  startedAtMs: Date.now(),
});
