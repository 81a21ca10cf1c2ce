import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { jest } from '@jest/globals';
import { createOtelTracing } from './otel-tracing.ts';

test.each([
  ['does not take', 404, 1],
  ['takes', 200, 0],
])('what a collector %s, by answering %i, is warned of %i times', async (_, status, warnings) => {
  const collector = createServer((_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
  }).listen(0, '127.0.0.1');
  await once(collector, 'listening');
  const { port } = collector.address() as AddressInfo;
  const warn = jest.fn();
  const tracing = await createOtelTracing({
    endpoint: `http://127.0.0.1:${port}`,
    service: 'test',
    sampling: { ratio: 1, followsParent: true },
    log: { warn },
  });
  // more than one batch
  for (let span = 0; span < 1_200; span += 1) {
    await tracing.span('work', {}, async () => undefined);
  }
  await tracing.close();
  expect(warn).toHaveBeenCalledTimes(warnings);
  collector.closeAllConnections();
  await new Promise((resolve) => collector.close(resolve));
});

test('a collector that never answers does not delay shutdown', async () => {
  let asked = 0;
  const collector = createServer(() => {
    asked += 1;
  }).listen(0, '127.0.0.1');
  await once(collector, 'listening');
  const { port } = collector.address() as AddressInfo;
  const tracing = await createOtelTracing({
    endpoint: `http://127.0.0.1:${port}`,
    service: 'test',
    sampling: { ratio: 1, followsParent: true },
    log: { warn: jest.fn() },
  });
  await tracing.span('work', {}, async () => undefined);
  const startedAt = performance.now();
  await tracing.close();
  expect(performance.now() - startedAt).toBeLessThan(2_500);
  expect(asked).toBe(1);
  collector.closeAllConnections();
  await new Promise((resolve) => collector.close(resolve));
});
