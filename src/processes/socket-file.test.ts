import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { temporaryFolder } from '../../test/factories/temporary-folder.ts';
import { removeOldSocket, unlinkSocket } from './socket-file.ts';

const folder = temporaryFolder('socket-file');

/** Leaves a socket behind as a killed process does; closing the server removes it. */
async function withSocket(path: string, use: () => void): Promise<void> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(path, resolve));
  use();
  await new Promise((resolve) => server.close(resolve));
}

test.each([removeOldSocket, unlinkSocket])(
  '%p removes a socket, and nothing if there is none',
  async (remove) => {
    const path = join(folder, 'old.sock');
    remove(path);
    await withSocket(path, () => {
      remove(path);
      expect(existsSync(path)).toBe(false);
    });
  },
);

test('a file, a folder or a link at the path stays and is named', async () => {
  const file = join(folder, 'tollgate.yaml');
  writeFileSync(file, 'models: []');
  const directory = join(folder, 'directory');
  mkdirSync(directory);
  const link = join(folder, 'link');
  symlinkSync(file, link);
  for (const path of [file, directory, link]) {
    expect(() => removeOldSocket(path)).toThrow(`LISTEN_SOCKET: ${path} exists and is not a socket`);
    unlinkSocket(path);
  }
  expect(readFileSync(link, 'utf8')).toBe('models: []');
  expect(statSync(directory).isDirectory()).toBe(true);
});
