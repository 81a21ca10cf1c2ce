import { spawn } from 'node:child_process';
import { openSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { choosePort } from '../../ops/embedded/free-port.ts';
import { cachedFolder, clientCache, installFromNpm } from '../../test/clients/client-cache.ts';

export const PORTKEY_VERSION = '1.15.2';
const PROGRAM = 'node_modules/@portkey-ai/gateway/build/start-server.js';
const READY_WITHIN_MS = 30_000;
const LOOK_MS = 100;

export interface Portkey {
  readonly url: string;
  readonly pid: number;
  stop(): void;
}

/**
 * Starts Portkey's gateway as npm publishes it. It is downloaded once into the user's cache and appears in neither the lock file nor the
 * repository. Throws NotInstalled when npm cannot fetch it, and an Error when it does not answer.
 */
export async function startPortkey(log: string): Promise<Portkey> {
  const name = `@portkey-ai/gateway@${PORTKEY_VERSION}`;
  const folder = await cachedFolder(
    join(clientCache(process.env), 'bench', name.replaceAll('/', '-')),
    (partial) => installFromNpm(partial, [name]),
  );
  const port = await choosePort();
  const output = openSync(log, 'a');
  const child = spawn(process.execPath, [join(folder, PROGRAM), '--headless', `--port=${port}`], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME },
    stdio: ['ignore', output, output],
  });
  const stop = () => void child.kill('SIGKILL');
  process.once('exit', stop);
  const url = `http://127.0.0.1:${port}`;
  const deadline = Date.now() + READY_WITHIN_MS;
  while (!(await answers(url))) {
    if (Date.now() > deadline || child.exitCode !== null) {
      stop();
      throw new Error(`Portkey does not answer; its output is in ${log}`);
    }
    await delay(LOOK_MS);
  }
  return { url, pid: child.pid ?? 0, stop };
}

function answers(url: string): Promise<boolean> {
  return fetch(url).then(
    ({ ok }) => ok,
    () => false,
  );
}
