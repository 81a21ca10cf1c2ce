import { stringify } from 'yaml';
import { readRows } from './row.ts';
import { expectedOf, RowPlayer } from './row-player.ts';

/** Plays every known provider quirk to the product and reads the result as clients of both dialects. */

const rows = readRows();
let player: RowPlayer;

beforeAll(async () => {
  player = await RowPlayer.start(rows);
});

afterAll(async () => {
  await player?.close();
});

test.each(rows.map((row) => [row.name, row] as const))('%s', async (_, row) => {
  const observed = await player.play(row, false);
  const expected = expectedOf(row);
  if (!expected) {
    throw new Error(
      `This row has no expectation yet. If this result is right, add it to the row:\n${stringify(observed)}`,
    );
  }
  expect(observed).toEqual(expected);
  // how the bytes are divided into packets must not matter
  if (row.events && !expected.chat?.error && !expected.messages?.error) {
    expect(await player.play(row, true)).toEqual(expected);
  }
});
