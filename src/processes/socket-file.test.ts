import { once } from 'node:events';
import { existsSync, linkSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { temporaryFolder } from '../../test/factories/temporary-folder.ts';
import { removeOldSocket, unlinkSocket } from './socket-file.ts';

const folder = temporaryFolder('socket-file');

/** Leaves a socket behind as a killed process does: closing a server removes its own. */
async function leaveSocket(path: string): Promise<void> {
  const served = join(folder, 'served.sock');
  const server = createServer().listen(served);
  await once(server, 'listening');
  linkSync(served, path);
  server.close();
  await once(server, 'close');
}

test.each([removeOldSocket, unlinkSocket])(
  '%p removes a socket, and nothing if there is none',
  async (remove) => {
    const path = join(folder, 'old.sock');
    await remove(path);
    await leaveSocket(path);
    await remove(path);
    expect(existsSync(path)).toBe(false);
  },
);

test('a socket that a process serves stays with it', async () => {
  const path = join(folder, 'live.sock');
  const server = createServer().listen(path);
  await once(server, 'listening');
  await expect(removeOldSocket(path)).rejects.toThrow(`LISTEN_SOCKET: another process listens on ${path}`);
  expect(existsSync(path)).toBe(true);
  server.close();
});

test('a file, a folder or a link at the path stays and is named', async () => {
  const file = join(folder, 'tollgate.yaml');
  writeFileSync(file, 'models: []');
  const directory = join(folder, 'directory');
  mkdirSync(directory);
  const link = join(folder, 'link');
  symlinkSync(file, link);
  for (const path of [file, directory, link]) {
    await expect(removeOldSocket(path)).rejects.toThrow(`LISTEN_SOCKET: ${path} exists and is not a socket`);
    unlinkSocket(path);
  }
  expect(readFileSync(link, 'utf8')).toBe('models: []');
  expect(statSync(directory).isDirectory()).toBe(true);
});
