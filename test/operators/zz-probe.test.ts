import { writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { startService } from '../e2e/running-service.ts';
test('serve', async () => {
  const s = await startService();
  const ids: string[] = [];
  for (let i = 0; i < 6; i += 1) {
    const r = await s.call<{ task_id: string }>('/v3/async/image-turbo', { body: { prompt: 'a lighthouse', seed: i, extra: { webhook: { url: 'https://example.com/hook' } } } });
    ids.push(r.task_id);
  }
  const proxy = createServer((q, p) => {
    const t = new URL(s.url);
    const u = request({ host: t.hostname, port: t.port, path: q.url, method: q.method, headers: { ...q.headers, host: t.host, authorization: `Bearer ${s.adminToken}` } }, (r) => { p.writeHead(r.statusCode!, r.headers); r.pipe(p); });
    q.pipe(u);
  });
  await new Promise<void>((r) => proxy.listen(18099, '127.0.0.1', r));
  writeFileSync('/tmp/probe.json', JSON.stringify({ url: s.url, ids, token: s.adminToken, key: s.key }));
  await new Promise((r) => setTimeout(r, Number(process.env.PROBE_MS ?? 0)));
  proxy.closeAllConnections(); proxy.close();
  await s.stop();
}, 900_000);
