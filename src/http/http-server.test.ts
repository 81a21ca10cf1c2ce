import { once } from 'node:events';
import type { Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import express from 'express';
import { createHttpServer } from './http-server.ts';

const BODY_BYTES = 8 * 1024 * 1024;

let server: Server;

beforeAll(async () => {
  const app = express();
  app.post('/last', (_, response) => response.set('Connection', 'close').status(402).end('no credits'));
  app.post('/', (_, response) => response.status(402).end('no credits'));
  server = createHttpServer(app);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});

afterAll(() => {
  server?.closeAllConnections();
  server?.close();
});

/** Sends a whole large body before reading the answer, as many clients do. */
async function sendAll(path: string, header: string): Promise<string> {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.pause();
  const head = `POST ${path} HTTP/1.1\r\nHost: localhost\r\n${header}Content-Length: ${BODY_BYTES}\r\n\r\n`;
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject);
    socket.write(head);
    socket.write(Buffer.alloc(BODY_BYTES), () => resolve());
  });
  return await text(socket);
}

test.each([
  ['by the client', '/', 'Connection: close\r\n'],
  ['by the server', '/last', ''],
])(
  'the client of a rejected large body reads the reason when the connection is closed %s',
  async (_, path, header) => {
    const answer = await sendAll(path, header);
    expect(answer).toContain('402');
    expect(answer).toContain('no credits');
  },
);

test('a client that disconnects in the middle of a rejected body leaves no open connection', async () => {
  const opened = once(server, 'connection');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.write('POST /last HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n12');
  expect(await text(socket)).toContain('no credits');
  const [connection] = (await opened) as [Socket];
  const closed = once(connection, 'close');
  socket.destroy();
  await closed;
});
