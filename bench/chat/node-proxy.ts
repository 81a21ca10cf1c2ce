import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Pool } from 'undici';

/** The least that a Node proxy can do: node:http receives the body, undici forwards it, and the answer is passed through unread. */
const upstream = new Pool(process.env.UPSTREAM_URL!, { connections: 256 });
const server = createServer((request, response) => {
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => parts.push(part));
  request.on('end', () => {
    const options = { headers: { 'content-type': 'application/json' }, body: Buffer.concat(parts) };
    upstream.request({ method: 'POST', path: '/v1/chat/completions', ...options }).then(
      (answer) => {
        response.writeHead(answer.statusCode, { 'content-type': String(answer.headers['content-type']) });
        answer.body.pipe(response);
      },
      (error: Error) => response.writeHead(502).end(error.message),
    );
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => {
  process.send?.({ type: 'ready', address: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
});
process.on('disconnect', () => process.exit(0));
