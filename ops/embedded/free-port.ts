import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Range below the ephemeral ports that systems assign to outgoing connections and to programs that ask for any port (Linux from
 * 32,768, macOS from 49,152), so that a restarted server finds its port still free.
 */
const PORTS = { from: 20_000, to: 32_000 };
const TRIES = 100;
/** How long the remembered port may still be held, in ms, e.g. by a half-started session of a killed server. */
const PATIENCE_MS = 2_000;
const POLL_MS = 50;

/** Returns the remembered port if it is or becomes free on the loopback address, otherwise a new free one. */
export async function choosePort(remembered?: number): Promise<number> {
  const deadline = Date.now() + PATIENCE_MS;
  while (remembered !== undefined && Date.now() < deadline) {
    if ((await tryListen('127.0.0.1', remembered)) === undefined) {
      return remembered;
    }
    await sleep(POLL_MS);
  }
  return await findFreePort();
}

/** Returns the error code (EADDRINUSE, EACCES, EADDRNOTAVAIL …) of listening there, or undefined when it works. */
export function tryListen(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}

async function findFreePort(): Promise<number> {
  for (let attempt = 0; attempt < TRIES; attempt += 1) {
    const port = randomInt(PORTS.from, PORTS.to);
    if ((await tryListen('127.0.0.1', port)) === undefined) {
      return port;
    }
  }
  throw new Error(`no free port found between ${PORTS.from} and ${PORTS.to} on 127.0.0.1`);
}
