import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
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
} from '../../ops/embedded/private-apt.ts';
import { runCommand } from '../../ops/embedded/run-command.ts';

/** How to run a Python program that imports swift. */
export interface SwiftPython {
  readonly command: string;
  readonly environment: Record<string, string>;
}

/** The modules that Swift's proxy with its S3 middleware imports, and the native libraries of those. */
const MODULES =
  'swift eventlet greenlet pastedeploy pyeclib xattr netifaces requests urllib3 chardet charset-normalizer idna certifi lxml dnspython six monotonic cffi-backend pkg-resources'
    .split(' ')
    .map((name) => `python3-${name}`);
const LIBRARIES = /^(lib(xml2|xslt1|icu|erasurecode)[\w.-]*)$/;
const PYTHON =
  /^((lib)?python3(\.\d+)?(-minimal|-stdlib)?|lib(expat1|ffi|bz2|lzma|sqlite3|ssl|crypt|uuid|zstd)[\w.-]*|zlib1g|media-types)$/;
const PROBE = 'import swift.proxy.server, swift.obj.mem_server, swift.common.middleware.s3api.s3api';

/**
 * Finds OpenStack Swift in the per-user cache, or fetches its Debian packages there without any right on the system (about
 * 14 MB, once). Throws an Error that says why there is none: a test of S3 without an S3 server proves nothing.
 */
export async function findSwift(environment: NodeJS.ProcessEnv): Promise<SwiftPython> {
  const cache = environment.XDG_CACHE_HOME || join(environment.HOME || homedir(), '.cache');
  const folder = join(cache, 'tollgate', `swift-${process.platform}-${process.arch}`);
  const cached = await open(folder);
  if (cached !== undefined) {
    return cached;
  }
  const reason = await fetchSwift(folder, environment);
  const fetched = await open(folder);
  if (fetched === undefined) {
    throw new Error(
      `No S3 server for the tests: OpenStack Swift is not in ${folder} and ${reason ?? 'the fetched one does not run'}. The S3 tests need apt-get and dpkg (Debian or Ubuntu) and a package mirror.`,
    );
  }
  return fetched;
}

async function open(folder: string): Promise<SwiftPython | undefined> {
  if (!existsSync(folder)) {
    return undefined;
  }
  const libraries = join(folder, 'usr', 'lib');
  const own = ['/usr/bin/python3', join(folder, 'usr', 'bin', 'python3')];
  const environment = {
    PATH: '/usr/bin:/bin',
    PYTHONPATH: join(libraries, 'python3', 'dist-packages'),
    PYTHONDONTWRITEBYTECODE: '1',
    LD_LIBRARY_PATH: readdirSync(libraries)
      .filter((name) => name.includes('-linux-'))
      .map((name) => join(libraries, name))
      .join(':'),
  };
  for (const command of own.filter(existsSync)) {
    const probe = await runCommand(command, ['-c', PROBE], { env: environment, timeoutMs: 60_000 });
    if (probe.code === 0) {
      return { command, environment };
    }
  }
  return undefined;
}

/** Returns why it did not work. */
async function fetchSwift(folder: string, environment: NodeJS.ProcessEnv): Promise<string | undefined> {
  if (!(await hasProgram('apt-get')) || !(await hasProgram('dpkg'))) {
    return 'this system has no apt';
  }
  if (!canCreate(folder)) {
    return `${folder} cannot be made`;
  }
  const work = `${folder}.${process.pid}`;
  try {
    // what is there does not run; later it could be another process's, which is about to use it
    rmSync(folder, { recursive: true, force: true });
    rmSync(work, { recursive: true, force: true });
    mkdirSync(work, { recursive: true });
    const problem = await download(work, environment);
    if (problem !== undefined) {
      return problem;
    }
    renameSync(join(work, 'root'), folder);
    return undefined;
  } catch (error) {
    // Another test process may have put the same files there in the meantime.
    return existsSync(folder) ? undefined : String(error);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

async function download(work: string, environment: NodeJS.ProcessEnv): Promise<string | undefined> {
  const apt = openPrivateApt(work, environment);
  const problem = await updateLists(apt);
  if (problem !== undefined) {
    return problem;
  }
  const python = existsSync('/usr/bin/python3')
    ? []
    : ['python3', ...(await dependencies(apt, ['python3'], PYTHON))];
  const libraries = await dependencies(apt, ['python3-lxml', 'python3-pyeclib'], LIBRARIES);
  const names = [...new Set([...MODULES, ...libraries, ...python])];
  const result = await apt('apt-get', ['download', ...names], DOWNLOAD_TIMEOUT_MS);
  if (result.code !== 0) {
    return `its packages could not be downloaded (${firstProblem(result)})`;
  }
  await unpackAll(work);
  return undefined;
}

async function dependencies(apt: PrivateApt, roots: string[], wanted: RegExp): Promise<string[]> {
  const strict = ['recommends', 'suggests', 'conflicts', 'breaks', 'replaces', 'enhances'].map(
    (kind) => `--no-${kind}`,
  );
  const result = await apt('apt-cache', ['depends', '--recurse', ...strict, ...roots], 60_000);
  return result.stdout.split('\n').filter((line) => wanted.test(line));
}
