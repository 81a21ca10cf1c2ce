import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { haveSameClass } from '../../test/factories/v8-objects.ts';
import { createHttpServer } from './http-server.ts';

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
