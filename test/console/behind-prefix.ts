import { once } from 'node:events';
import { request as ask, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { consolePages } from '../../src/console/static.pages.ts';

/** A proxy that serves the service under a path prefix, and a console built for that prefix. */
export interface Prefixed {
  readonly url: string;
  /** Replaces the files of the console until a page is loaded again. */
  upgrade(): void;
  /** Returns whether a page was loaded since the upgrade. */
  isNew(): boolean;
  close(): Promise<void>;
}

export async function behindPrefix(prefix: string, target: string, folder: string): Promise<Prefixed> {
  let areGone = false;
  const app = express();
  app.use(`${prefix}/console`, (request, response, next) => {
    if (!request.path.startsWith('/assets/')) {
      areGone = false;
    }
    if (areGone) {
      response.status(404).end();
      return;
    }
    next();
  });
  app.use(`${prefix}/console`, consolePages({ folder, prefix, mediaOrigins: [] }));
  app.use(prefix, (request, response) => {
    const { method, headers } = request;
    const passed = ask(`${target}${request.url}`, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    passed.on('error', () => response.destroy());
    response.on('close', () => passed.destroy());
    request.pipe(passed);
  });
  const server = createServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    upgrade: () => {
      areGone = true;
    },
    isNew: () => !areGone,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
