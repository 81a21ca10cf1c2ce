import { existsSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { temporaryFolder } from '../../test/factories/temporary-folder.ts';
import { stopServers } from './stop-servers.ts';

const CLIENTS = 50;
let folder: string;

beforeAll(() => {
  folder = temporaryFolder('sockets');
});

async function listening(path: string): Promise<Server> {
  const server = createServer((_request, response) => {
    response.setHeader('Connection', 'close');
    response.end('served');
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return server;
}

function connected(path: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(path);
    socket.once('connect', () => resolve(socket));
    socket.once('error', reject);
  });
}

function ask(socket: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    socket.on('data', (chunk) => {
      text += String(chunk);
    });
    socket.on('error', reject);
    socket.on('close', () => resolve(text));
    socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n');
  });
}

test('clients that are connected get served, and no new ones can connect', async () => {
  const path = join(folder, 'a.sock');
  const server = await listening(path);
  const sockets = await Promise.all(Array.from({ length: CLIENTS }, () => connected(path)));
  const stopped = stopServers([server], { drainMs: 10_000 }, async () => undefined);
  const answers = await Promise.all(sockets.map(ask));
  expect(answers.filter((answer) => answer.includes('served'))).toHaveLength(CLIENTS);
  await stopped;
  expect(existsSync(path)).toBe(false);
  await expect(connected(path)).rejects.toMatchObject({ code: 'ENOENT' });
});

test('a call that does not finish is ended after the drain', async () => {
  const path = join(folder, 'b.sock');
  let end: (() => void) | undefined;
  const server = createServer((_request, response) => {
    end = () => response.end('cut short');
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  const answer = ask(await connected(path));
  while (end === undefined) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await stopServers([server], { drainMs: 20 }, async () => end?.());
  expect(await answer).toContain('cut short');
});
