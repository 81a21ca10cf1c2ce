import { createLogger } from '../lib/logger.ts';
import { isOldFfmpeg, warnOfOldFfmpeg } from './ffmpeg-age.ts';

test.each([
  ['ffmpeg version 4.4.2-0ubuntu0.22.04.1 Copyright (c) 2000-2021 the FFmpeg developers', true],
  ['ffmpeg version N-47683-g0e8eb07980-static https://x Copyright (c) 2000-2018 the FFmpeg developers', true],
  ['ffmpeg version 5.1.6-0+deb12u1 Copyright (c) 2000-2024 the FFmpeg developers', false],
  ['ffmpeg version n7.1 Copyright (c) 2000-2024 the FFmpeg developers', false],
  ['ffmpeg version N-117000-gabc Copyright (c) 2000-2025 the FFmpeg developers', false],
  ['something else', false],
])('%s', (banner, isOld) => {
  expect(isOldFfmpeg(banner)).toBe(isOld);
});

test('warns about a missing ffmpeg without failing', async () => {
  const lines: string[] = [];
  const log = createLogger({ name: 'test', level: 'info' }, { write: (line) => lines.push(line) });
  await warnOfOldFfmpeg('/nowhere/ffmpeg', log);
  expect(lines).toEqual([expect.stringContaining('ffmpeg cannot be run')]);
});
