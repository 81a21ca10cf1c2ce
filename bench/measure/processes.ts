import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { API_NODE_OPTIONS } from '../../ops/local/programs.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Starts a script of this repository, and the API with the options it ships with. Output goes to `log`; the process ends when its channel
 * closes.
 */
export function startProcess(
  script: string,
  environment: NodeJS.ProcessEnv,
  log: string,
  nodeOptions: readonly string[] = [],
): ChildProcess {
  const output = openSync(log, 'a');
  const shipped = script === 'dist/src/server.js' ? API_NODE_OPTIONS : [];
  return fork(join(ROOT, script), {
    cwd: ROOT,
    execArgv: script.endsWith('.ts') ? ['--import', 'tsx'] : [...shipped, ...nodeOptions],
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...environment },
    stdio: ['ignore', output, output, 'ipc'],
  });
}

/** Resolves to the address that a process announces once it listens. Throws when it ends first. */
export async function addressOf(child: ChildProcess): Promise<string> {
  const [message] = (await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(([code]) => {
      throw new Error(`a process of the bench ended with ${code} before it was ready`);
    }),
  ])) as [{ address: string }];
  return message.address;
}

/** Asks a process to end and waits until it has. */
export async function stopProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) {
    return;
  }
  const gone = once(child, 'exit');
  child.disconnect();
  await gone;
}
