import {
  accessSync,
  chmodSync,
  constants,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import type { RedisFetch, RedisSearch } from './redis-search.ts';
import { type CommandResult, runCommand } from './run-command.ts';

const UPDATE_TIMEOUT_MS = 180_000;
const DOWNLOAD_TIMEOUT_MS = 120_000;

/** Each package holds the server under the name of its checking tool: one program that looks at its own name. */
const SOURCES = [
  { packageName: 'redis-tools', program: 'redis-check-rdb' },
  { packageName: 'valkey-tools', program: 'valkey-check-rdb' },
];

/**
 * Fetches Redis from the distribution's packages without any right on the system: private package lists, download,
 * unpack. The result goes to the first cache folder that can be written. Does not throw; says why it did not work.
 */
export async function fetchRedisWithApt(search: RedisSearch): Promise<RedisFetch> {
  const folder = search.cacheFolders.find(canCreate);
  if (folder === undefined) {
    return { reason: `none of ${search.cacheFolders.join(', ')} can be written` };
  }
  if (!(await hasProgram('apt-get')) || !(await hasProgram('dpkg'))) {
    return { reason: process.platform === 'linux' ? 'this system has no apt' : '' };
  }
  const work = `${folder}.${process.pid}`;
  try {
    rmSync(work, { recursive: true, force: true });
    const reason = await fetchInto(work, search);
    if (reason !== undefined) {
      return { reason };
    }
    rmSync(folder, { recursive: true, force: true });
    renameSync(join(work, 'result'), folder);
    return { folder };
  } catch (error) {
    // Another start may have put the same files there in the meantime.
    return existsSync(join(folder, 'bin')) ? { folder } : { reason: String(error) };
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

async function fetchInto(work: string, search: RedisSearch): Promise<string | undefined> {
  const { onProgress } = search;
  const apt = privateApt(work, search.environment);
  onProgress('not on PATH, reading the package lists');
  const update = await apt('apt-get', ['update'], UPDATE_TIMEOUT_MS);
  // apt-get reports an unreachable server as a warning, with exit code 0.
  if (update.code !== 0 || /^[WE]: Failed to fetch/m.test(update.stderr)) {
    return `its package lists could not be downloaded (${firstProblem(update)})`;
  }
  let reason = '';
  for (const source of SOURCES) {
    onProgress(`downloading ${source.packageName}`);
    const download = await apt('apt-get', ['download', source.packageName], DOWNLOAD_TIMEOUT_MS);
    if (download.code !== 0) {
      reason ||= firstProblem(download);
      continue;
    }
    await unpackAll(work);
    const program = join(work, 'root', 'usr', 'bin', source.program);
    if (await lacksLibraries(program)) {
      onProgress('downloading its libraries');
      const names = await dependenciesOf(source.packageName, apt);
      const libraries = await apt('apt-get', ['download', ...names], DOWNLOAD_TIMEOUT_MS);
      if (libraries.code !== 0) {
        return `its libraries could not be downloaded (${firstProblem(libraries)})`;
      }
      await unpackAll(work);
    }
    collect(work, program);
    return undefined;
  }
  return `it could not be downloaded (${reason})`;
}

type PrivateApt = (program: string, parameters: string[], timeoutMs: number) => Promise<CommandResult>;

function privateApt(work: string, environment: NodeJS.ProcessEnv): PrivateApt {
  for (const folder of [
    'lists/partial',
    'cache/archives/partial',
    'state',
    'packages',
    'root',
    'result/bin',
    'result/lib',
  ]) {
    mkdirSync(join(work, folder), { recursive: true });
  }
  const options = [
    `Dir::State::Lists=${join(work, 'lists')}`,
    `Dir::State=${join(work, 'state')}`,
    `Dir::State::status=/var/lib/dpkg/status`,
    `Dir::Cache=${join(work, 'cache')}`,
    // As root apt would switch to an account that cannot enter our folder.
    'APT::Sandbox::User=root',
    'Acquire::Retries=1',
    'Acquire::Languages=none',
    'Acquire::http::Timeout=20',
    'Acquire::https::Timeout=20',
    // Hooks of the system (caches of package tools) write outside our folder.
    'APT::Update::Post-Invoke-Success::=',
    'APT::Update::Post-Invoke::=',
  ].flatMap((option) => ['-o', option]);
  return (program, parameters, timeoutMs) =>
    runCommand(program, ['-q', ...options, ...parameters], {
      cwd: join(work, 'packages'),
      env: { ...environment, LC_ALL: 'C', DEBIAN_FRONTEND: 'noninteractive' },
      timeoutMs,
    });
}

async function dependenciesOf(packageName: string, apt: PrivateApt): Promise<string[]> {
  const result = await apt('apt-cache', ['depends', '--no-suggests', '--no-recommends', packageName], 30_000);
  const names = [...result.stdout.matchAll(/^ {2}Depends: (lib\S+)$/gm)].map((match) => match[1] ?? '');
  return names.filter((name) => name !== '' && name !== 'libc6');
}

async function unpackAll(work: string): Promise<void> {
  const folder = join(work, 'packages');
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.deb'))) {
    await runCommand('dpkg', ['-x', join(folder, file), join(work, 'root')], { timeoutMs: 60_000 });
    rmSync(join(folder, file));
  }
}

async function lacksLibraries(program: string): Promise<boolean> {
  const result = await runCommand(program, ['--version'], { timeoutMs: 10_000 });
  return /error while loading shared libraries/.test(result.stderr);
}

function collect(work: string, program: string): void {
  const result = join(work, 'result');
  copyFileSync(program, join(result, 'bin', 'redis-server'));
  chmodSync(join(result, 'bin', 'redis-server'), 0o755);
  for (const entry of readdirSync(join(work, 'root'), { recursive: true, withFileTypes: true })) {
    if (/\.so(\.\d+)*$/.test(entry.name)) {
      // Links are followed: each name becomes a file of its own, so the folder can be moved.
      copyFileSync(join(entry.parentPath, entry.name), join(result, 'lib', entry.name));
    }
  }
}

function firstProblem(result: CommandResult): string {
  const lines = `${result.stderr}\n${result.stdout}`.split('\n').map((line) => line.trim());
  const line =
    lines.find((candidate) => /^[EW]: /.test(candidate)) ?? lines.find((candidate) => candidate !== '');
  return (line ?? `exit code ${result.code}`).replace(/^[EW]: /, '').slice(0, 160);
}

function canCreate(folder: string): boolean {
  try {
    mkdirSync(dirname(folder), { recursive: true });
    accessSync(dirname(folder), constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** True when the program is on PATH and runs. */
export async function hasProgram(name: string): Promise<boolean> {
  return (await runCommand(name, ['--version'], { timeoutMs: 10_000 })).code === 0;
}
