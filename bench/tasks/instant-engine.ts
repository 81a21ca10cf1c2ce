import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import sharp from 'sharp';

/**
 * An engine without work: OpenAI's Images API that answers every request at once with the same small image. It runs in its own process,
 * so the bench measures everything around an engine: queues, states, files, money.
 */

const SIDE_PIXELS = 256;

const picture = await sharp({
  create: { width: SIDE_PIXELS, height: SIDE_PIXELS, channels: 3, background: '#4a6fa5' },
})
  .png()
  .toBuffer();
const answer = JSON.stringify({ created: 1, data: [{ b64_json: picture.toString('base64') }] });

const server = createServer((request, response) => {
  request.resume();
  request.on('end', () => response.writeHead(200, { 'content-type': 'application/json' }).end(answer));
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => {
  process.send?.({ type: 'ready', address: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
});
process.on('disconnect', () => process.exit(0));
