import type { AddressInfo } from 'node:net';
import express from 'express';
import { Pool } from 'undici';

/** A baseline: Express reads the JSON body, undici forwards it, and the answer is passed through. No authentication, money or metering. */
const upstream = new Pool(process.env.UPSTREAM_URL!, { connections: 256 });
const app = express();
app.post('/api/v1/chat/completions', express.json({ limit: '10mb' }), async (request, response) => {
  const answer = await upstream.request({
    method: 'POST',
    path: '/v1/chat/completions',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(request.body),
  });
  response.writeHead(answer.statusCode, { 'content-type': String(answer.headers['content-type']) });
  answer.body.pipe(response);
});
const server = app.listen(0, '127.0.0.1', () => {
  process.send?.({ type: 'ready', address: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
});
server.keepAliveTimeout = 60_000;
process.on('disconnect', () => process.exit(0));
