import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createOtelTracing } from './otel-tracing.ts';

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
  });
  await tracing.span('work', {}, async () => undefined);
  const startedAt = performance.now();
  await tracing.close();
  expect(performance.now() - startedAt).toBeLessThan(2_500);
  expect(asked).toBe(1);
  collector.closeAllConnections();
  await new Promise((resolve) => collector.close(resolve));
});
