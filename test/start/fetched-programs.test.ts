import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findRedisBinary } from '../../ops/embedded/redis-binary.ts';
import { whyNotRunning } from '../../ops/embedded/run-command.ts';
import { temporaryFolder } from '../factories/temporary-folder.ts';
import { libraryPath, unpackedPackages } from '../setup/debian-packages.ts';

/** Downloaded programs: where their libraries are searched for, and what is reported when they do not run. */

const LOADER = 'error while loading shared libraries: libreadline.so.8: cannot open shared object file';

const folder = temporaryFolder('start');

/** Writes a program that ends like one with a missing library. */
function brokenProgram(name: string): string {
  const path = join(folder, name);
  writeFileSync(path, `#!/bin/sh\necho "$0: ${LOADER}" >&2\nexit 127\n`);
  chmodSync(path, 0o755);
  return path;
}

test('finds libraries wherever packages keep them, public folders first', () => {
  const root = join(folder, 'root');
  const places = ['usr/lib/x86_64-linux-gnu/pulseaudio', 'usr/lib/x86_64-linux-gnu', 'lib/x86_64-linux-gnu'];
  for (const [place, library] of [
    [places[0]!, 'libpulsecommon-16.1.so'],
    [places[1]!, 'libpulse.so.0'],
    [places[2]!, 'libreadline.so.8'],
    ['usr/lib/python3', 'notes.txt'],
  ]) {
    mkdirSync(join(root, place!), { recursive: true });
    writeFileSync(join(root, place!, library!), '');
  }
  expect(libraryPath(root).split(':')).toEqual(
    [places[2], places[1], places[0]].map((at) => join(root, at!)),
  );
});

test('reports in its own words why a program does not run', async () => {
  const command = brokenProgram('psql');
  const options = { env: process.env, timeoutMs: 10_000 };
  expect(await whyNotRunning(command, ['--version'], options)).toBe(`${command}: ${LOADER}`);
  expect(await whyNotRunning('true', [], options)).toBeUndefined();
  expect(await whyNotRunning('false', [], options)).toBe('false: exit code 1');
});

test('names the reason why a Redis does not run', async () => {
  const command = brokenProgram('redis-server');
  const search = findRedisBinary({
    environment: { PATH: folder },
    cacheFolders: [join(command, 'impossible')],
    onProgress: () => undefined,
  });
  await expect(search).rejects.toThrow(`${command} does not run (${command}: ${LOADER})`);
});

test('reports why the program of unpacked packages does not run, and where they are', async () => {
  writeFileSync(join(folder, 'apt-get'), '#!/bin/sh\n', { mode: 0o755 });
  const choice = { name: 'curl', packages: ['curl'], whyNot: async () => LOADER };
  const unpacked = unpackedPackages(choice, { PATH: folder, XDG_CACHE_HOME: folder });
  const place = join(folder, 'tollgate', `curl-${process.platform}-${process.arch}`);
  await expect(unpacked).rejects.toThrow(
    `The tests need curl: its packages are unpacked in ${place}, but it does not run: ${LOADER}`,
  );
});
