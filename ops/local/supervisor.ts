import { productPrograms } from './programs.ts';
import { supervise } from './supervise.ts';
import { createTerminal } from './terminal.ts';

/** Entry point of `npm start` and `npm run dev`, and the only reader of the process environment here. Returns the exit code. */
export async function main(root: string, mode: 'start' | 'dev', startedAtMs: number): Promise<number> {
  const environment = process.env;
  // A closed terminal must not keep us from stopping everything in order.
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', () => undefined);
  }
  const color = process.stdout.isTTY === true && !environment.NO_COLOR && environment.TERM !== 'dumb';
  return await supervise({
    environment,
    root,
    mode,
    programs: productPrograms(root, mode),
    terminal: createTerminal(process.stdout, color),
    startedAtMs,
  });
}
