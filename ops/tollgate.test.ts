import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '../test/factories/temporary-folder.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const { bin } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  bin: Readonly<Record<string, string>>;
};

test('the command of the package runs as a file, and says so if nothing is built', () => {
  const file = bin.tollgate ?? '';
  const clone = temporaryFolder('command');
  cpSync(join(ROOT, file), join(clone, file));
  const started = () => spawnSync(join(clone, file), ['a', 'b'], { encoding: 'utf8' });
  expect(started()).toMatchObject({ status: 2, stderr: expect.stringContaining('run npm run build') });
  const program = join(clone, 'dist', 'src', 'operators', 'cli');
  mkdirSync(program, { recursive: true });
  writeFileSync(join(clone, 'package.json'), '{"type":"module"}');
  writeFileSync(join(program, 'main.js'), 'console.log(process.argv.slice(2).join());');
  expect(started()).toMatchObject({ status: 0, stdout: 'a,b\n' });
});
