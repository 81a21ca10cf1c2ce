#!/usr/bin/env node
import { createInterface } from 'node:readline/promises';
import { EXIT } from './cli-error.ts';
import { runCli } from './program.ts';

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // a reader that has enough, such as `head`, needs no word about it
  if (error.code !== 'EPIPE') {
    process.stderr.write(`tollgate: the output could not be written: ${error.message}\n`);
  }
  process.exit(EXIT.refused);
});

process.exitCode = await runCli(process.argv.slice(2), {
  environment: process.env,
  stdout: process.stdout,
  stderr: process.stderr,
  ask: terminalAsk(process.stdin, process.stderr),
});

/** Asks the person at the terminal; anything but yes means no. Undefined when input or output is not a terminal. */
function terminalAsk(
  input: NodeJS.ReadStream,
  output: NodeJS.WriteStream,
): ((question: string) => Promise<boolean>) | undefined {
  if (!input.isTTY || !output.isTTY) {
    return undefined;
  }
  return async (question) => {
    const reader = createInterface({ input, output });
    try {
      return /^\s*y(es)?\s*$/i.test(await reader.question(`${question} [y/N] `));
    } finally {
      reader.close();
    }
  };
}
