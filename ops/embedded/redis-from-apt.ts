import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import {
  canCreate,
  DOWNLOAD_TIMEOUT_MS,
  firstProblem,
  hasProgram,
  openPrivateApt,
  packagesToInstall,
  unpackAll,
  updateLists,
} from './private-apt.ts';
import type { RedisFetch, RedisSearch } from './redis-search.ts';

/** Each package contains the server under the name of its checking tool: the program chooses its role by its own name. */
const SOURCES = [
  { packageName: 'redis-tools', program: 'redis-check-rdb' },
  { packageName: 'valkey-tools', program: 'valkey-check-rdb' },
];

/**
 * Fetches Redis from the distribution's packages without any system privileges: private package lists, download, unpack. The
 * result goes to the first writable cache folder. Never throws; returns the reason on failure.
 */
export async function fetchRedisWithApt(search: RedisSearch): Promise<RedisFetch> {
  const folder = search.cacheFolders.find(canCreate);
  if (folder === undefined) {
    return { reason: `none of ${search.cacheFolders.join(', ')} is writable` };
  }
  if (!(await hasProgram('apt-get')) || !(await hasProgram('dpkg'))) {
    return { reason: process.platform === 'linux' ? 'this system has no apt' : '' };
  }
  const work = `${folder}.${process.pid}`;
  try {
    // what is there does not run; if removed later, it could be another process's copy that is about to be used
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
  onProgress('not on PATH, downloading the package lists');
  const problem = await updateLists(apt);
  if (problem !== undefined) {
    return problem;
  }
  let reason = '';
  for (const source of SOURCES) {
    onProgress(`downloading ${source.packageName}`);
    const { names } = await packagesToInstall(apt, [source.packageName]);
    const wanted = names.filter((name) => name === source.packageName || /^(lib|zlib1g)/.test(name));
    const download = await apt('apt-get', ['download', ...wanted], DOWNLOAD_TIMEOUT_MS);
    if (download.code !== 0) {
      reason ||= firstProblem(download);
      continue;
    }
    await unpackAll(work);
    collect(work, join(work, 'root', 'usr', 'bin', source.program));
    return undefined;
  }
  return `it could not be downloaded (${reason})`;
}

function collect(work: string, program: string): void {
  const result = join(work, 'result');
  copyFileSync(program, join(result, 'bin', 'redis-server'));
  chmodSync(join(result, 'bin', 'redis-server'), 0o755);
  for (const entry of readdirSync(join(work, 'root'), { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    // some links point to files of packages that are already installed on the system, so their target is missing here
    if (/\.so(\.\d+)*$/.test(entry.name) && !entry.isDirectory() && existsSync(path)) {
      // Links are resolved: each name becomes a file of its own, so that the folder can be moved.
      copyFileSync(path, join(result, 'lib', entry.name));
    }
  }
}
