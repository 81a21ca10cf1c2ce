import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import express from 'express';
import { Registry } from 'prom-client';
import { UnauthenticatedConnections } from '../../src/http/admission/unauthenticated-connections.ts';
import { createHttpServer } from '../../src/http/http-server.ts';
import { eventually } from '../factories/eventually.ts';

const PER_ADDRESS = 3;
const GRACE_MS = 3_000;

let now: number;
let registry: Registry;
let close: () => Promise<void>;
let port: number;
/** Sends the answer to a request to /wait. */
let answerWaiting: () => void;

beforeEach(async () => {
  now = 0;
  registry = new Registry();
  const strangers = new UnauthenticatedConnections({ perAddress: PER_ADDRESS, registry, now: () => now });
  const app = express();
  app.get('/key', (request, response) => {
    strangers.proven(request.socket);
    response.end('known');
  });
  app.get('/wait', (_, response) => {
    answerWaiting = () => response.end('waited');
  });
  app.get('/', (_, response) => response.end('stranger'));
  const server = createHttpServer(app, strangers.watched(app));
  server.on('connection', (connection) => strangers.opened(connection));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  port = (server.address() as AddressInfo).port;
  close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
});
afterEach(() => close());

async function open(): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  // a connection that the server drops may be reset; tests only check that it is closed
  socket.on('error', () => undefined);
  return socket;
}

/** Sends a request on a connection of its own that stays open. Resolves with the head of the answer. */
async function ask(path: string, socket?: Socket): Promise<{ socket: Socket; head: string }> {
  const connection = socket ?? (await open());
  connection.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  const [answer] = await once(connection, 'data');
  return { socket: connection, head: String(answer) };
}

async function metric(name: string): Promise<number> {
  const { values } = await registry.getSingleMetric(name)!.get();
  return values[0]?.value ?? 0;
}

const idle = () => metric('tollgate_http_stranger_connections');
const closed = () => metric('tollgate_http_stranger_connections_closed_total');
const idleAre = (count: number) =>
  eventually(async () => (await idle()) === count, 2_000, `${count} idle connections`);

test('keeps as many connections as allowed and announces the close of any further one', async () => {
  for (let count = 1; count <= PER_ADDRESS; count += 1) {
    expect((await ask('/')).head).toContain('Connection: keep-alive');
    await idleAre(count);
  }
  const { socket, head } = await ask('/');
  expect(head).toContain('Connection: close');
  await once(socket, 'end');
  expect([await idle(), await closed()]).toEqual([PER_ADDRESS, 1]);
});

test('a connection that has shown a valid key is not counted and takes no place from others', async () => {
  for (let count = 0; count < 3 * PER_ADDRESS; count += 1) {
    expect((await ask('/key')).head).toContain('Connection: keep-alive');
  }
  expect([await idle(), await closed()]).toEqual([0, 0]);
});

test('a key shown while the address has too many idle connections keeps its connection open', async () => {
  for (let count = 1; count <= PER_ADDRESS; count += 1) {
    await ask('/');
    await idleAre(count);
  }
  const { socket, head } = await ask('/key');
  expect(head).not.toContain('Connection: close');
  expect((await ask('/', socket)).head).toContain('Connection: keep-alive');
  expect(await closed()).toBe(0);
});

test('a burst of new connections stays until their requests had time to arrive, then the silent ones are closed', async () => {
  const burst = await Promise.all(Array.from({ length: 2 * PER_ADDRESS }, open));
  await idleAre(2 * PER_ADDRESS);
  now = GRACE_MS;
  await open();
  await Promise.all(burst.slice(0, PER_ADDRESS + 1).map((socket) => text(socket.resume()).catch(() => '')));
  await idleAre(PER_ADDRESS);
  expect(await closed()).toBe(PER_ADDRESS + 1);
});

test('an endless burst gets no grace time', async () => {
  await Promise.all(Array.from({ length: 22 * PER_ADDRESS }, open));
  await eventually(async () => (await closed()) > 0, 2_000, 'connections closed');
  expect(await idle()).toBeLessThanOrEqual(20 * PER_ADDRESS);
});

test('a connection that waits for its answer is not idle', async () => {
  const waiting = ask('/wait');
  await eventually(async () => answerWaiting !== undefined, 2_000, 'the request');
  const others = Array.from({ length: 2 * PER_ADDRESS }, open);
  await Promise.all(others);
  await idleAre(2 * PER_ADDRESS);
  now = GRACE_MS;
  await open();
  await idleAre(PER_ADDRESS);
  answerWaiting();
  expect((await waiting).head).toContain('waited');
});
