import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { monitoringListener } from './monitoring-listener.ts';

let server: Server;
let base: string;

beforeAll(async () => {
  server = createServer(monitoringListener((request, response) => response.end(request.url)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(() => {
  server?.close();
});

test.each(['/healthz', '/readyz', '/metrics', '/metrics?name=a'])('%s is passed on', async (path) => {
  const answer = await fetch(base + path);
  expect([answer.status, await answer.text()]).toEqual([200, path]);
});

test.each(['/', '/v1/models', '/admin/v1/accounts', '/metrics/', '//metrics', '/healthz/../v1/models/'])(
  '%s is not found',
  async (path) => {
    const answer = await fetch(base + path);
    const { error } = (await answer.json()) as { error: { code: string } };
    expect([answer.status, error.code]).toEqual([404, 'route_not_found']);
  },
);
