import { isDeepStrictEqual } from 'node:util';
import type { Row } from '../replay/row.ts';
import { expectedOf, RowPlayer } from '../replay/row-player.ts';

/** Plays the rows in `argv` and prints the names of those that fail, as a JSON array. */
const rows: Row[] = JSON.parse(process.argv[2]!);
const player = await RowPlayer.start(rows);
const failed: string[] = [];
for (const row of rows) {
  // an answer of a form that no row may have fails the row, too
  const outcome = await player.play(row, false).catch((error: Error) => error.message);
  if (!isDeepStrictEqual(outcome, expectedOf(row))) {
    failed.push(row.name);
  }
}
await player.close();
process.stdout.write(JSON.stringify(failed));
