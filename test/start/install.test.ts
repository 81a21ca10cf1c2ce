import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, renameSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '../factories/temporary-folder.ts';

const install = fileURLToPath(new URL('../../ops/install.mjs', import.meta.url));
const folder = temporaryFolder('start');

beforeAll(() => {
  mkdirSync(join(folder, 'node_modules'));
  writeFileSync(join(folder, 'package.json'), '{"name":"x","dependencies":{"is-even":"1.0.0"}}');
  writeLock('package-lock.json', '1.0.0');
});

function writeLock(file: string, version: string): void {
  const packages = {
    '': { name: 'x', dependencies: { 'is-even': '1.0.0' } },
    'node_modules/is-even': { version },
    'node_modules/only-elsewhere': { version: '1.0.0', optional: true },
  };
  writeFileSync(join(folder, file), JSON.stringify({ name: 'x', lockfileVersion: 3, packages }));
}

/** Returns the result of ensurePackages. `npm` is the program found in `path`. */
function ensurePackages(path: string): string {
  const script = `
    const { ensurePackages } = await import(${JSON.stringify(install)});
    console.log(await ensurePackages(${JSON.stringify(folder)}, () => {}).catch((error) => error.message));`;
  const run = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    timeout: 60_000,
    env: { PATH: path },
  });
  return run.stdout.toString().trim();
}

test('leaves packages alone that match the lock file', () => {
  writeLock('node_modules/.package-lock.json', '1.0.0');
  expect(ensurePackages('/nonexistent')).toBe('up to date');
});

test('reinstalls after a changed lock file or an interrupted install, and without npm prints one clear line', () => {
  writeLock('node_modules/.package-lock.json', '0.9.0');
  expect(ensurePackages('/nonexistent')).toMatch(/^npm is not on PATH\./);
  writeFileSync(join(folder, 'node_modules', '.package-lock.json'), '{"packages":');
  expect(ensurePackages('/nonexistent')).toMatch(/^npm is not on PATH\./);
});

test('never lets npm empty a folder that node_modules only links to', () => {
  const packages = join(folder, 'node_modules');
  writeLock('node_modules/.package-lock.json', '0.9.0');
  renameSync(packages, join(folder, 'elsewhere'));
  symlinkSync('elsewhere', packages);
  expect(ensurePackages('/nonexistent')).toMatch(/^node_modules is a link /);
  writeLock('node_modules/.package-lock.json', '1.0.0');
  expect(ensurePackages('/nonexistent')).toBe('up to date');
  unlinkSync(packages);
  renameSync(join(folder, 'elsewhere'), packages);
});

test.each([
  [
    'npm error code ENOTFOUND\nnpm error errno ENOTFOUND',
    /^npm cannot reach its registry \(code ENOTFOUND\)/,
  ],
  ['npm error code ENOSPC\nnpm error nospc There is no space left', /^The disk is full while installing/],
  ['npm error code EUSAGE\nnpm error\nnpm error the lock is out of step', /: the lock is out of step$/],
])("turns npm's output into one clear line: %j", (output, line) => {
  const programs = join(folder, 'programs');
  mkdirSync(programs, { recursive: true });
  writeFileSync(join(programs, 'npm'), `#!/bin/sh\nprintf '%s\\n' '${output}' >&2\nexit 1\n`);
  chmodSync(join(programs, 'npm'), 0o755);
  writeLock('node_modules/.package-lock.json', '0.9.0');
  expect(ensurePackages(programs)).toMatch(line);
});
