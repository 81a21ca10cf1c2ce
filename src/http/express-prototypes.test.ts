import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import express from 'express';
import { createHttpServer } from './http-server.ts';

/** Returns whether V8 lays out the properties of both objects alike, so that code optimized for one also serves the other. */
function haveSameClass(one: object, other: object): boolean {
  setFlagsFromString('--allow-natives-syntax');
  try {
    return new Function('one', 'other', 'return %HaveSameMap(one, other)')(one, other) as boolean;
  } finally {
    setFlagsFromString('--no-allow-natives-syntax');
  }
}

test('requests and responses keep their hidden classes when they pass through Express', async () => {
  const app = express();
  const seen: { request: object; response: object }[] = [];
  app.use((request, response) => {
    seen.push({ request, response });
    response.status(200).json({ ip: request.ip, app: request.app === app });
  });
  const server = createHttpServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  for (let call = 0; call < 50; call += 1) {
    const answer = await fetch(`http://127.0.0.1:${port}/`);
    expect(await answer.json()).toEqual({ ip: '127.0.0.1', app: true });
  }
  server.close();
  server.closeAllConnections();
  const [one, other] = seen.slice(-2);
  expect(haveSameClass(one!.request, other!.request)).toBe(true);
  expect(haveSameClass(one!.response, other!.response)).toBe(true);
});
