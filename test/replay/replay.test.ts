import { stringify } from 'yaml';
import { readRows } from './row.ts';
import { expectedOf, RowPlayer } from './row-player.ts';

/** Every peculiarity of a provider that we have met, played to the product and read by clients of both dialects. */

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
    throw new Error(`nothing is expected yet; if this is right, add it to the row:\n${stringify(observed)}`);
  }
  expect(observed).toEqual(expected);
  // how bytes are cut into packets changes nothing
  if (row.events && !expected.chat?.error && !expected.messages?.error) {
    expect(await player.play(row, true)).toEqual(expected);
  }
});
