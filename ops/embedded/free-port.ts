import { createServer } from 'node:net';

/** The remembered port when it is still free on the loopback address, otherwise a new free one. */
export async function choosePort(remembered?: number): Promise<number> {
  if (remembered !== undefined && (await tryListen('127.0.0.1', remembered)) === undefined) {
    return remembered;
  }
  return await findFreePort();
}

/** The error code (EADDRINUSE, EACCES, EADDRNOTAVAIL …) that listening there gives, or undefined when it works. */
export function tryListen(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}

function findFreePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen({ host: '127.0.0.1', port: 0 }, () => {
      const address = server.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      server.close(() => resolve(port));
    });
  });
}
