#!/usr/bin/env node
import { createInterface } from 'node:readline/promises';
import { runCli } from './program.ts';

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
