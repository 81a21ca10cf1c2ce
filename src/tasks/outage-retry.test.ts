import { MediaError } from '../media/media-error.ts';
import { isStorageOutage } from './outage-retry.ts';

const full = 'Could not write header for output file #0: No space left on device';

test.each([
  ['a call of Node', Object.assign(new Error('write'), { code: 'ENOSPC' })],
  ['ffmpeg', new MediaError('media_tool_failed', `ffmpeg failed (exit code 1): ${full}`)],
  [
    'sharp',
    new Error('out.png: write error\nsystem error: No space left on device\nvips2png: unable to write'),
  ],
  ['a full quota', new Error('out.png: write error\nsystem error: Disk quota exceeded')],
])('a full scratch disk is an outage, not a failure of the file, as %s reports it', (_, error) => {
  expect(isStorageOutage(error)).toBe(true);
});

test.each([new MediaError('media_tool_failed', 'ffmpeg failed (exit code 1): moov atom not found'), null])(
  'other failures of a tool are no outage: %s',
  (error) => {
    expect(isStorageOutage(error)).toBe(false);
  },
);
