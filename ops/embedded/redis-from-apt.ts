import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import {
  canCreate,
  DOWNLOAD_TIMEOUT_MS,
  firstProblem,
  hasProgram,
  openPrivateApt,
  type PrivateApt,
  unpackAll,
  updateLists,
} from './private-apt.ts';
import type { RedisFetch, RedisSearch } from './redis-search.ts';
import { runCommand } from './run-command.ts';

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
    // what is there does not run; later it could be another process's, which is about to use it
    rmSync(folder, { recursive: true, force: true });
    rmSync(work, { recursive: true, force: true });
    const reason = await fetchInto(work, search);
    if (reason !== undefined) {
      return { reason };
    }
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
  const apt = openPrivateApt(work, search.environment);
  for (const folder of ['bin', 'lib']) {
    mkdirSync(join(work, 'result', folder), { recursive: true });
  }
  onProgress('not on PATH, reading the package lists');
  const problem = await updateLists(apt);
  if (problem !== undefined) {
    return problem;
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

async function dependenciesOf(packageName: string, apt: PrivateApt): Promise<string[]> {
  const result = await apt('apt-cache', ['depends', '--no-suggests', '--no-recommends', packageName], 30_000);
  const names = [...result.stdout.matchAll(/^ {2}Depends: (lib\S+)$/gm)].map((match) => match[1] ?? '');
  return names.filter((name) => name !== '' && name !== 'libc6');
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
