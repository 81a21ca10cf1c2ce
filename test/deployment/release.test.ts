import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { beforeEach, expect, test } from '@jest/globals';
import { makeRelease } from '../../ops/release/make-release.ts';
import { Repository } from '../../ops/release/repository.ts';
import { VERSIONED_FILES } from '../../ops/release/versions.ts';
import { temporaryFolder } from '../factories/temporary-folder.ts';
import { ROOT } from './compose-file.ts';

/** Releases are made in a temporary repository with our own versioned files and its own changelog. */

const execute = promisify(execFile);
const FIRST = `# Changelog

What users notice.

## Unreleased

Migrations: yes. May go back: there is nothing before it.

### Added

- Everything.
`;

let folder: string;
let repository: Repository;

const git = async (...args: string[]) => (await execute('git', ['-C', folder, ...args])).stdout.trim();
const read = (file: string) => readFile(join(folder, file), 'utf8');

async function write(file: string, text: string): Promise<void> {
  await mkdir(dirname(join(folder, file)), { recursive: true });
  await writeFile(join(folder, file), text);
}

async function commit(message: string): Promise<void> {
  await git('add', '--all');
  await git('commit', '--quiet', '--message', message);
}

/** Writes the second line of "Unreleased", and an entry below it. */
async function change(line: string, what: string): Promise<void> {
  const changelog = await read('CHANGELOG.md');
  const changed = changelog.replace(
    /^## Unreleased\n\n[^\n]*\n/m,
    `## Unreleased\n\n${line}\n\n### Changed\n\n- ${what}\n`,
  );
  await write('CHANGELOG.md', changed);
}

beforeEach(async () => {
  folder = temporaryFolder('release');
  repository = new Repository(folder);
  for (const file of [
    ...VERSIONED_FILES,
    ...['changelog', 'notes', 'release-refused'].map((name) => `ops/release/${name}.ts`),
  ]) {
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await cp(join(ROOT, file), join(folder, file));
  }
  await write('CHANGELOG.md', FIRST);
  await write('migrations/0001-accounts.ts', 'export {};\n');
  await git('init', '--quiet', '--initial-branch=main');
  for (const setting of [
    'user.name=Somebody',
    'user.email=somebody@example.com',
    'commit.gpgSign=false',
    'tag.gpgSign=false',
  ]) {
    await git('config', ...(setting.split('=') as [string, string]));
  }
  await commit('Everything');
});

const present = async () => (JSON.parse(await read('package.json')) as { version: string }).version;

test('moves unreleased changes under the version of the first release, which has nothing to go back to', async () => {
  const version = await present();
  expect(await makeRelease(repository, version, '2026-12-01')).toBe(`v${version}`);
  expect(await read('CHANGELOG.md')).toBe(`# Changelog

What users notice.

## Unreleased

Migrations: no. May go back: yes, to ${version}.

## ${version} - 2026-12-01

Migrations: yes. May go back: no, it is the first release.

### Added

- Everything.
`);
  expect(await git('cat-file', '-t', `v${version}`)).toBe('tag');
  expect(await git('rev-parse', `v${version}^{commit}`)).toBe(await git('rev-parse', 'HEAD'));
  expect(await git('log', '-1', '--format=%s')).toBe(`Release ${version}`);
  expect(await git('status', '--porcelain')).toBe('');
});

test('writes the next version into every file, and limits the notes to its section', async () => {
  const first = await present();
  await makeRelease(repository, first, '2026-12-01');
  await change(`Migrations: yes. May go back: yes, to ${first}.`, 'Faster.');
  await write('migrations/0002-more.ts', 'export {};\n');
  await commit('Faster');
  await makeRelease(repository, '1.10.0', '2026-12-24');
  const lock = JSON.parse(await read('package-lock.json')) as {
    version: string;
    packages: { '': { version: string } };
  };
  const document = JSON.parse(await read('openapi.json')) as { info: { version: string } };
  expect([await present(), lock.version, lock.packages[''].version, document.info.version]).toEqual(
    Array(4).fill('1.10.0'),
  );
  expect(await read('ops/helm/tollgate/Chart.yaml')).toMatch(/^version: 1\.10\.0\nappVersion: "1\.10\.0"$/m);
  // nothing else in those files has changed
  expect(await git('diff', '--shortstat', 'HEAD^', 'HEAD', '--', ...VERSIONED_FILES)).toBe(
    '4 files changed, 6 insertions(+), 6 deletions(-)',
  );
  const notes = (tag: string) =>
    execute(process.execPath, ['--import', 'tsx', join(folder, 'ops/release/notes.ts'), tag], { cwd: ROOT });
  expect((await notes('v1.10.0')).stdout).toBe(
    `Migrations: yes. May go back: yes, to ${first}.\n\n### Changed\n\n- Faster.\n`,
  );
  await expect(notes(`v${first}`)).rejects.toThrow('package.json says 1.10.0');

  await change('Migrations: no. May go back: no, the format of ids is another.', 'Other ids.');
  await commit('Other ids');
  // versions compare by number: 1.10 is newer than 1.9
  await expect(makeRelease(repository, '1.9.0', '2026-12-25')).rejects.toThrow(
    '1.9.0 is not newer than 1.10.0',
  );
  expect(await makeRelease(repository, '2.0.0', '2026-12-25')).toBe('v2.0.0');
});

test.each([
  ['an invalid version', 'v1.2', async () => undefined, '"v1.2" is not a version like 1.2.3'],
  ['an older version', '0.0.1', async () => undefined, '0.0.1 is not newer than'],
  [
    'an uncommitted file',
    '9.0.0',
    () => write('new.ts', ''),
    'uncommitted files, commit or remove them first: new.ts',
  ],
  [
    'files with different versions',
    '9.0.0',
    async () => {
      await write('ops/helm/tollgate/Chart.yaml', 'version: 0.0.3\nappVersion: "0.0.3"\n');
      await commit('Another chart');
    },
    'ops/helm/tollgate/Chart.yaml has 0.0.3',
  ],
  [
    'an empty changelog',
    '9.0.0',
    async () => {
      await write('CHANGELOG.md', '## Unreleased\n\nMigrations: no. May go back: yes, to 0.0.0.\n');
      await commit('Nothing');
    },
    'nothing under "Unreleased"',
  ],
])('rejects %s and changes nothing', async (_, version, prepare, told) => {
  await prepare();
  const before = [await git('rev-parse', 'HEAD'), await git('status', '--porcelain')];
  await expect(makeRelease(repository, version, '2026-12-01')).rejects.toThrow(told);
  expect([await git('rev-parse', 'HEAD'), await git('status', '--porcelain')]).toEqual(before);
  expect(await git('tag')).toBe('');
});

test.each([
  ['Migrations: no. May go back: yes, to FIRST.', 'says "Migrations: no", but migrations changed since'],
  ['Migrations: yes. May go back: yes, to 0.0.0.', 'say "May go back: yes, to'],
  ['Migrations: perhaps.', 'is not of the form'],
])('rejects the second line "%s" after a first release', async (line, told) => {
  const first = await present();
  await makeRelease(repository, first, '2026-12-01');
  await change(line.replace('FIRST', first), 'A function.');
  await write('migrations/functions/ledger.sql', 'SELECT 1;\n');
  await commit('A function');
  await expect(makeRelease(repository, '9.0.0', '2026-12-24')).rejects.toThrow(told);
  await expect(makeRelease(repository, first, '2026-12-24')).rejects.toThrow(`v${first} already exists`);
  expect(await git('tag')).toBe(`v${first}`);
});
