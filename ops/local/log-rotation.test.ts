import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '../../test/factories/eventually.ts';
import { temporaryFolder } from '../../test/factories/temporary-folder.ts';
import { type LogRotation, rotateLogs } from './log-rotation.ts';

const BYTES_MAX = 500_000;
const LOOK_MS = 20;

let folder: string;
let rotation: LogRotation | undefined;

beforeEach(() => {
  folder = temporaryFolder('rotation');
});
afterEach(async () => {
  await rotation?.close();
});

const filesOf = (path: string) =>
  [4, 3, 2, 1]
    .map((age) => `${path}.${age}`)
    .concat(path)
    .filter((file) => existsSync(file));
const numbersIn = (path: string) =>
  filesOf(path).flatMap((file) => readFileSync(file, 'utf8').split('\n').filter(Boolean).map(Number));

/** Starts a process that writes numbered lines of 100 bytes to a descriptor it inherited, as the API does. */
function writeLines(path: string, lines: number, atOnce: number, everyMs: number): Promise<unknown> {
  const log = openSync(path, 'a');
  const script = `const { writeSync } = require('node:fs'); let n = 0;
    const turn = () => { for (let i = 0; i < ${atOnce} && n < ${lines}; i += 1, n += 1) writeSync(1, String(n).padEnd(99) + '\\n');
      if (n < ${lines}) setTimeout(turn, ${everyMs}); };
    turn();`;
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', log, 'inherit'] });
  closeSync(log);
  return once(child, 'exit');
}

test('a log stays within its limit while another process writes it, and no lines are missing in between', async () => {
  const path = join(folder, 'api.log');
  rotation = rotateLogs([path], BYTES_MAX, LOOK_MS);
  // 2 MB in 2 s: four times as much as is kept
  await writeLines(path, 20_000, 100, 10);
  await rotation.close();
  const sizes = filesOf(path).map((file) => statSync(file).size);
  expect(sizes).toHaveLength(5);
  expect(sizes.reduce((sum, size) => sum + size)).toBeLessThan(2 * BYTES_MAX);
  const numbers = numbersIn(path);
  expect(numbers.at(-1)).toBe(19_999);
  expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b));
  // except for what is written in the microseconds before a file is truncated
  expect(20_000 - numbers[0]! - numbers.length).toBeLessThan(20);
  expect(existsSync(`${path}.copy`)).toBe(false);
});

test('a log below its limit is left alone, and a missing log is no error', async () => {
  const paths = ['api', 'worker', 'redis'].map((name) => join(folder, `${name}.log`));
  writeFileSync(paths[0]!, 'x'.repeat(BYTES_MAX / 5));
  writeFileSync(paths[2]!, 'x'.repeat(BYTES_MAX / 5 + 1));
  rotation = rotateLogs(paths, BYTES_MAX, LOOK_MS);
  // the last log is checked last
  await eventually(
    async () => existsSync(`${paths[2]}.1`),
    15_000,
    'the rotation of the log above its limit',
  );
  expect(paths.flatMap(filesOf)).toEqual([paths[0], `${paths[2]}.1`, paths[2]]);
});
