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

export interface PackageChoice {
  /** Names the folder in the per-user cache. */
  readonly name: string;
  /** Debian packages to unpack, as the package lists of this system have them. */
  readonly packages: (apt: PrivateApt) => Promise<readonly string[]>;
  /** Whether what lies in the folder works here. */
  readonly works: (folder: string) => Promise<boolean>;
}

/** For `beforeAll`: the first time on a machine, packages are downloaded. */
export const PACKAGES_TIMEOUT_MS = 240_000;

/**
 * A folder with the files of Debian packages, from the per-user cache or fetched there without any right on the system. Throws an
 * Error that says why there is none: a test that is left out proves nothing.
 */
export async function unpackedPackages(
  choice: PackageChoice,
  environment: NodeJS.ProcessEnv,
): Promise<string> {
  const cache = environment.XDG_CACHE_HOME || join(environment.HOME || homedir(), '.cache');
  const folder = join(cache, 'tollgate', `${choice.name}-${process.platform}-${process.arch}`);
  const isThere = async () => existsSync(folder) && (await choice.works(folder));
  if (await isThere()) {
    return folder;
  }
  const reason = await fetchPackages(folder, choice, environment);
  if (await isThere()) {
    return folder;
  }
  throw new Error(
    `The tests need ${choice.name}: it is not in ${folder} and ${reason ?? 'the fetched one does not run'}. Fetching needs apt-get and dpkg (Debian or Ubuntu) and a package mirror.`,
  );
}

/** Folders with shared libraries below an unpacked root, as LD_LIBRARY_PATH wants them. */
export function libraryPath(root: string): string {
  const libraries = join(root, 'usr', 'lib');
  return readdirSync(libraries)
    .filter((name) => name.includes('-linux-'))
    .map((name) => join(libraries, name))
    .join(':');
}

/** What packages depend on, down to the bottom, as far as the names are wanted. */
export async function dependencies(
  apt: PrivateApt,
  roots: readonly string[],
  wanted: RegExp,
): Promise<string[]> {
  const strict = ['recommends', 'suggests', 'conflicts', 'breaks', 'replaces', 'enhances'].map(
    (kind) => `--no-${kind}`,
  );
  const result = await apt('apt-cache', ['depends', '--recurse', ...strict, ...roots], 60_000);
  return [...new Set(result.stdout.split('\n').filter((line) => wanted.test(line)))];
}

/** Returns why it did not work. */
async function fetchPackages(
  folder: string,
  choice: PackageChoice,
  environment: NodeJS.ProcessEnv,
): Promise<string | undefined> {
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
    const apt = openPrivateApt(work, environment);
    const problem = await updateLists(apt);
    if (problem !== undefined) {
      return problem;
    }
    const result = await apt('apt-get', ['download', ...(await choice.packages(apt))], DOWNLOAD_TIMEOUT_MS);
    if (result.code !== 0) {
      return `its packages could not be downloaded (${firstProblem(result)})`;
    }
    await unpackAll(work);
    renameSync(join(work, 'root'), folder);
    return undefined;
  } catch (error) {
    // Another test process may have put the same files there in the meantime.
    return existsSync(folder) ? undefined : String(error);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
