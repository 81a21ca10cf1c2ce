import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../../test/factories/temporary-folder.ts';
import { findFfmpeg } from './ffmpeg.ts';
import { runCommand } from './run-command.ts';

const folder = temporaryFolder('ffmpeg');
for (const name of ['ffmpeg', 'ffprobe']) {
  writeFileSync(join(folder, name), '#!/bin/sh\n');
  chmodSync(join(folder, name), 0o755);
}

test('a configured path takes precedence over PATH', () => {
  const own = join(folder, 'ffprobe');
  expect(findFfmpeg({ PATH: folder, FFMPEG_PATH: own })).toEqual({ ffmpeg: own, ffprobe: own });
});

test('a configured path that is not a program is rejected by name', () => {
  expect(() => findFfmpeg({ FFMPEG_PATH: '/nonexistent' })).toThrow(/^FFMPEG_PATH is \/nonexistent/);
});

test('without a program on PATH the installed packages are used, and they run', async () => {
  const { ffmpeg, ffprobe } = findFfmpeg({ PATH: '' });
  for (const program of [ffmpeg, ffprobe]) {
    expect((await runCommand(program, ['-version'], { timeoutMs: 10_000 })).code).toBe(0);
  }
});
