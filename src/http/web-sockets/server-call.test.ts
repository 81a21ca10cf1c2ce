import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { callServer } from './server-call.ts';

/** A server that does not even listen. */
function serverOf(listener: RequestListener): Server {
  return createServer(listener);
}

const NEVER = new AbortController().signal;
const CALL = { path: '/there?x=1', headers: { 'x-own': 'yes' }, address: '192.0.2.1', signal: NEVER };

test('makes a request with body, headers and the address of the client', async () => {
  const server = serverOf(async (request, response) => {
    const { url, headers, socket } = request;
    const body = await text(request);
    response.end(JSON.stringify({ url, own: headers['x-own'], address: socket.remoteAddress, body }));
  });
  const response = await callServer(server, { ...CALL, body: ['{"a":"ä', '"}'] });
  expect(response.statusCode).toBe(200);
  expect(JSON.parse(await text(response))).toEqual({
    url: '/there?x=1',
    own: 'yes',
    address: '192.0.2.1',
    body: '{"a":"ä"}',
  });
});

test('a large answer arrives whole, and waits while nobody reads it', async () => {
  const piece = 'x'.repeat(64 * 1024);
  let written = 0;
  const server = serverOf(async (_, response) => {
    for (let number = 0; number < 200; number += 1) {
      if (!response.write(piece)) {
        await once(response, 'drain');
      }
      written += 1;
    }
    response.end();
  });
  const response = await callServer(server, { ...CALL, body: [] });
  await sleep(50);
  expect(written).toBeLessThan(20);
  expect(await text(response)).toHaveLength(200 * piece.length);
});

test('a large body arrives whole', async () => {
  const server = serverOf(async (request, response) => {
    response.end(String((await text(request)).length));
  });
  const response = await callServer(server, {
    ...CALL,
    body: Array.from({ length: 300 }, () => 'y'.repeat(50_000)),
  });
  expect(await text(response)).toBe('15000000');
});

test('an aborted call looks to the server like a client that left', async () => {
  let left = false;
  const server = serverOf((_, response) => {
    response.write('beginning');
    response.once('close', () => {
      left = !response.writableFinished;
    });
  });
  const leaving = new AbortController();
  const response = await callServer(server, { ...CALL, body: [], signal: leaving.signal });
  const reading = text(response);
  leaving.abort(new Error('gone'));
  await expect(reading).rejects.toThrow();
  expect(left).toBe(true);
  await expect(callServer(server, { ...CALL, body: [], signal: leaving.signal })).rejects.toThrow();
});

test('an answer that the server cuts is an error', async () => {
  const server = serverOf((_, response) => {
    response.write('beginning');
    setImmediate(() => response.destroy());
  });
  const response = await callServer(server, { ...CALL, body: [] });
  await expect(text(response)).rejects.toThrow();
});
